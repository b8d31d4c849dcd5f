import { useEffect, useEffectEvent, useState } from "react";

/** What an action would do, looked up when its dialog opens and again with each choice; what was seen stays until it is there. */
export function useLook<T, Choice>(ask: (choice: Choice) => Promise<T>, first: Choice) {
  const [preview, setPreview] = useState<T | null>(null);
  const [fault, setFault] = useState<Error | null>(null);
  const [looking, setLooking] = useState(true);

  async function look(choice: Choice): Promise<void> {
    setLooking(true);
    setFault(null);
    try {
      setPreview(await ask(choice));
    } catch (error) {
      setPreview(null);
      setFault(error instanceof Error ? error : new Error(String(error)));
    } finally {
      setLooking(false);
    }
  }
  const lookFirst = useEffectEvent(() => void look(first));
  useEffect(() => lookFirst(), []);
  return { preview, setPreview, fault, looking, look };
}
