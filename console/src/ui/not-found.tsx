import { Link } from "react-router";
import { Notice } from "./notice.tsx";

export function NotFound() {
  return (
    <Notice title="There is no such page">
      <p>
        The address leads nowhere.{" "}
        <Link to="/" className="text-accent underline">
          All runs
        </Link>
      </p>
    </Notice>
  );
}
