// Prints `N passed, N failed` from vitest's JSON reports, as the last line of CI. A report that is missing counts as one
// failure, a test file that could not be loaded too; a report without a single passed test is a failure as well.
import { existsSync, readFileSync } from "node:fs";

const paths = process.argv.slice(2);
if (paths.length === 0) throw new Error("usage: node scripts/count-tests.mjs REPORT.json ...");
const counts = paths.map((path) => {
  if (!existsSync(path)) return { passed: 0, failed: 1, good: false };
  const report = JSON.parse(readFileSync(path, "utf8"));
  const unloaded = report.testResults.filter((file) => file.status === "failed" && file.assertionResults.length === 0).length;
  const failed = report.numFailedTests + unloaded;
  return { passed: report.numPassedTests, failed, good: report.success && failed === 0 && report.numPassedTests > 0 };
});
const sum = (name) => counts.reduce((total, count) => total + count[name], 0);
console.log(`${sum("passed")} passed, ${sum("failed")} failed`);
process.exitCode = counts.every((count) => count.good) ? 0 : 1;
