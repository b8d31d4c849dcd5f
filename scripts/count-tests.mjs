// Prints `N passed, N failed` from vitest's JSON report, as the last line of CI. A test file that could not be loaded holds no
// tests and counts as one failure; a report without a single passed test is a failure too.
import { readFileSync } from "node:fs";

const [path] = process.argv.slice(2);
if (path === undefined) throw new Error("usage: node scripts/count-tests.mjs REPORT.json");
const report = JSON.parse(readFileSync(path, "utf8"));
const unloaded = report.testResults.filter((file) => file.status === "failed" && file.assertionResults.length === 0).length;
const passed = report.numPassedTests;
const failed = report.numFailedTests + unloaded;
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = report.success && failed === 0 && passed > 0 ? 0 : 1;
