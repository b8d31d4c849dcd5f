import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { Product } from "../../support/product.ts";

/** Servers of one home that die at a planned point of one call. */
export class Victims {
  readonly #product: Product;
  readonly #plan: string;
  readonly #trace: string;

  constructor(product: Product) {
    this.#product = product;
    this.#plan = join(product.box.dir, "crash-plan.json");
    this.#trace = join(product.box.dir, "crash-trace");
  }

  /** The points of one call that goes through: before each effect, and after the last one. */
  async points(tool: string, args: Readonly<Record<string, unknown>>): Promise<string[]> {
    await this.#call(null, tool, args);
    const lines = readFileSync(this.#trace, "utf8").trim().split("\n");
    const methods = lines.filter((line) => !line.startsWith("after git "));
    const polled = methods.filter((line) => /^after (leaseIdle|takeOver)/u.test(line));
    const git = lines.filter((line) => /^after git (update-ref|read-tree|checkout-index|update-index|write-tree)/u.test(line));
    const before = methods.filter((line) => line.startsWith("before "));
    return [...before, ...polled, ...git.filter((_, index) => index % 6 === 0), ...methods.slice(-1)];
  }

  /** The call on a server that dies at this point. */
  async dies(point: string, tool: string, args: Readonly<Record<string, unknown>>): Promise<void> {
    await this.#call(point, tool, args).catch(() => {});
    expect([point, existsSync(`${this.#trace}.killed`)]).toEqual([point, true]);
  }

  async #call(kill: string | null, tool: string, args: Readonly<Record<string, unknown>>): Promise<void> {
    for (const file of [this.#trace, `${this.#trace}.killed`]) rmSync(file, { force: true });
    writeFileSync(this.#plan, JSON.stringify({ role: "door", trace: this.#trace, ...(kill === null ? {} : { kill }) }));
    const door = await this.#product.connect({ LOOPKEEPER_TEST_CRASH: this.#plan });
    await door.call(tool, args);
    await door.close();
  }
}
