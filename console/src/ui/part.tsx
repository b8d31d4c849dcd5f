import {
  Component,
  type ComponentType,
  lazy,
  type ReactNode,
  Suspense,
  useEffect,
  useEffectEvent,
  useRef,
  useState,
} from "react";
import { useConnection } from "../api/connection.ts";
import { Button } from "./button.tsx";

/**
 * A part of the page that is loaded when it is first shown. A server that goes away at that moment must not take the rest of the
 * page with it, as React does with what fails inside: the part says so in its own place, and comes by itself with the server.
 */
export function part<P extends object>(
  load: () => Promise<ComponentType<P>>,
  loading: ReactNode,
  Fault: ComponentType<P & PartFault> = PartFaultNotice,
): ComponentType<P> {
  const loaded = (): ComponentType<P> => lazy(async () => ({ default: await load() }));
  // Shared by every place that shows the part: once loaded, it is there at once. What failed to load would fail for ever.
  let current = loaded();
  const failed = (): void => {
    current = loaded();
  };
  return function Part(props: P) {
    const [Shown, show] = useState(() => current);
    return (
      <Boundary failed={failed} again={() => show(() => current)} fault={(again) => <Fault {...props} again={again} />}>
        <Suspense fallback={loading}>
          <Shown {...props} />
        </Suspense>
      </Boundary>
    );
  };
}

export interface PartFault {
  readonly again: () => void;
}

interface BoundaryProps {
  failed?(): void;
  again?(): void;
  /** Address of the page: what failed at one is no matter at another. */
  readonly place?: string;
  /** What stands there instead. */
  fault(again: () => void): ReactNode;
  readonly children: ReactNode;
}

/** What fails inside is told in its place; React tells of that to classes only. */
export class Boundary extends Component<BoundaryProps, { readonly failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError(): { failed: boolean } {
    return { failed: true };
  }

  override componentDidCatch(): void {
    this.props.failed?.();
  }

  override componentDidUpdate({ place }: BoundaryProps): void {
    if (this.state.failed && place !== this.props.place) this.setState({ failed: false });
  }

  override render(): ReactNode {
    if (!this.state.failed) return this.props.children;
    const again = (): void => {
      this.props.again?.();
      this.setState({ failed: false });
    };
    return (
      <>
        <WithServer back={again} />
        {this.props.fault(again)}
      </>
    );
  }
}

/** Calls `back` when the connection to the server stands again. */
function WithServer({ back }: { readonly back: () => void }) {
  const connection = useConnection();
  const before = useRef(connection);
  const call = useEffectEvent(back);
  useEffect(() => {
    if (connection === "live" && before.current !== "live") call();
    before.current = connection;
  }, [connection]);
  return null;
}

export function PartFaultNotice({ again }: PartFault) {
  return (
    <div role="alert" className="my-6 rounded border border-line border-l-4 border-l-bad px-4 py-3">
      <p className="font-medium">This part of the page could not be shown.</p>
      <p className="mt-1 text-soft">
        It comes by itself when the server is there again. After an update of Loopkeeper the page has to be reloaded.
      </p>
      <div className="mt-2 flex gap-2">
        <Button onClick={again}>Try again</Button>
        <Button onClick={() => location.reload()}>Reload the page</Button>
      </div>
    </div>
  );
}
