import { appendFileSync, closeSync, openSync } from "node:fs";
import type { CrashPlan } from "./config.ts";
import { killProcess } from "./engine/process.ts";

/**
 * For the crash tests only, off unless LOOPKEEPER_TEST_CRASH is set: every durable effect of a process is named and written
 * to a trace, and at one of them the process kills itself as a power cut would. It ends nothing but its own process.
 */
export interface CrashPoints {
  /** `target` with each of its methods as a point, except those in `quiet`. */
  wrap<T extends object>(target: T, quiet: Quiet): T;
  /** One point that is no method: told when its effect is done. */
  done(name: string): void;
}

export interface Quiet {
  /** Methods that have no durable effect, or whose moment a timer decides. */
  readonly methods: ReadonlySet<string>;
  /** Methods that are asked again and again: they count only when they answer something. */
  readonly polled: ReadonlySet<string>;
}

/** Null where nothing is to be watched, which is everywhere but in tests. */
export function crashPointsOf(plan: CrashPlan | null, role: CrashPlan["role"]): CrashPoints | null {
  return plan === null || plan.role !== role ? null : new Points(plan);
}

class Points implements CrashPoints {
  readonly #plan: CrashPlan;
  readonly #counts = new Map<string, number>();
  #armed: boolean;

  constructor(plan: CrashPlan) {
    this.#plan = plan;
    this.#armed = plan.arm === undefined;
  }

  wrap<T extends object>(target: T, quiet: Quiet): T {
    return new Proxy(target, {
      get: (object, property) => {
        const value: unknown = Reflect.get(object, property);
        if (typeof value !== "function" || typeof property !== "string" || quiet.methods.has(property)) return value;
        const call = (args: readonly unknown[]): unknown => Reflect.apply(value, object, args);
        return (...args: unknown[]) => this.#around(property, args, quiet.polled.has(property), call);
      },
    });
  }

  done(name: string): void {
    this.#pass("after", this.#numbered(name));
  }

  async #around(method: string, args: readonly unknown[], polled: boolean, call: (args: readonly unknown[]) => unknown) {
    if (polled) {
      const answer: unknown = await call(args);
      if (answer !== null) this.done(method);
      return answer;
    }
    const name = this.#numbered(nameOf(method, args));
    this.#pass("before", name);
    const answer: unknown = await call(args);
    this.#pass("after", name);
    return answer;
  }

  #numbered(name: string): string {
    const count = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, count);
    return `${name}#${count}`;
  }

  #pass(when: "before" | "after", name: string): void {
    const { trace, kill, arm } = this.#plan;
    appendFileSync(trace, `${when} ${name}\n`);
    if (this.#armed && kill === `${when} ${name}` && firstToDie(`${trace}.killed`)) killProcess(process.pid);
    if (arm === `${when} ${name}`) {
      this.#armed = true;
      this.#counts.clear();
    }
  }
}

/** One death a plan: the process that takes over inherits the variable and must live. */
function firstToDie(file: string): boolean {
  try {
    closeSync(openSync(file, "wx"));
    return true;
  } catch {
    return false;
  }
}

/** A change of a run is named by its events, so that each kind of change is a point of its own. */
function nameOf(method: string, [first, second]: readonly unknown[]): string {
  if (method === "setRunArtifacts") return `${method}(${String(second)})`;
  if (method !== "apply" || typeof first !== "object" || first === null) return method;
  const events = "events" in first && Array.isArray(first.events) ? first.events : [];
  const types = events.flatMap((event: unknown) =>
    typeof event === "object" && event !== null && "type" in event ? [String(event.type)] : [],
  );
  return `apply(${
    types.length > 0
      ? types.join("+")
      : Object.keys(first)
          .filter((key) => RECORDS.has(key))
          .join("+")
  })`;
}

const RECORDS: ReadonlySet<string> = new Set(["checkpoints", "run", "steps", "attempts", "iterations"]);
