import { withLocalTimes } from "../ui/clock.ts";

/** A titled list in the one style of consequences; nothing where there is nothing to tell. */
export function List({ title, items }: { readonly title: string; readonly items: readonly string[] }) {
  if (items.length === 0) return null;
  return (
    <section className="mb-3">
      <h3 className="text-[13px] font-semibold">{title}</h3>
      <ul className="list-disc pl-5">
        {items.map((item) => (
          <li key={item} className="break-words">
            {withLocalTimes(item)}
          </li>
        ))}
      </ul>
    </section>
  );
}
