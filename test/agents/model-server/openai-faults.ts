import { epochMs } from "../../../src/run/clock.ts";
import { type Answer, jsonAnswer, windowResetsAt } from "./dialect.ts";
import type { Fault } from "./script.ts";

/** Both OpenAI dialects refuse in the same shapes. */
export function refuseLikeOpenAi(fault: Fault): Answer {
  const error = (status: number, body: Readonly<Record<string, unknown>>) => jsonAnswer(status, { error: body });
  switch (fault) {
    case "rate_limit":
      return error(429, { message: "Rate limit reached. Please try again in 1s.", type: "tokens", code: "rate_limit_exceeded" });
    case "overloaded":
      return error(503, { message: "The server is currently overloaded.", type: "server_error", code: "server_is_overloaded" });
    case "no_credit":
      return error(402, { message: "Insufficient credits. Add more at the billing page.", code: 402 });
    case "unauthorized":
      return error(401, { message: "Incorrect API key provided.", type: "invalid_request_error", code: "invalid_api_key" });
    case "usage_window":
      return error(429, {
        type: "usage_limit_reached",
        message: "The usage limit has been reached",
        plan_type: "plus",
        resets_at: windowResetsAt(epochMs()),
        resets_in_seconds: 3600,
      });
  }
}
