import type { RunView } from "../../../src/tools/schemas.ts";
import { inputClass } from "../ui/field.tsx";
import { type BudgetDraft, CAPS } from "./budget-draft.ts";

const NAMES = { cost_usd: "US dollars", minutes: "minutes", tokens: "tokens" } as const;

/** The owner's caps as new totals, each with what is used of it; where a higher one is needed, only those that there are. */
export function BudgetField({
  run: { usage, budget },
  value,
  required = false,
  onChange,
}: {
  readonly run: RunView;
  readonly value: BudgetDraft;
  readonly required?: boolean;
  readonly onChange: (value: BudgetDraft) => void;
}) {
  const used = { cost_usd: usage.cost_usd ?? 0, minutes: usage.minutes, tokens: usage.input_tokens + usage.output_tokens };
  return (
    <fieldset className="mb-3">
      <legend className="mb-1 text-[13px] font-medium">
        Budget, as new totals{required && <span className="ml-1 text-needs"> (needed)</span>}
      </legend>
      <div className="flex flex-wrap gap-2">
        {CAPS.filter((cap) => !required || budget?.[cap] !== undefined).map((cap) => (
          <label key={cap} className="w-40 text-[12px] text-soft">
            {NAMES[cap]}, {(Math.round(used[cap] * 100) / 100).toLocaleString("en")} used
            <input
              type="number"
              min={0}
              step="any"
              value={value[cap]}
              placeholder={budget?.[cap] === undefined ? "" : String(budget[cap])}
              onChange={(event) => onChange({ ...value, [cap]: event.target.value })}
              className={`${inputClass} mt-0.5`}
            />
          </label>
        ))}
      </div>
    </fieldset>
  );
}
