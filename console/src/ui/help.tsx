import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";

const KEYS = [
  ["j / k", "next, previous run"],
  ["enter", "open the run"],
  ["r", "resume, or answer what it asked"],
  ["g", "grant iterations"],
  ["s", "stop"],
  ["/", "search"],
  ["esc", "close what is open"],
  ["?", "this help"],
] as const;

export function Help({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keyboard" onClose={onClose} footer={<Button onClick={onClose}>Close</Button>}>
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1.5">
        {KEYS.map(([key, what]) => (
          <div key={key} className="contents">
            <dt>
              <kbd className="rounded border border-line bg-raised px-1.5 py-0.5 font-mono text-[12px]">{key}</kbd>
            </dt>
            <dd className="text-soft">{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
