import type { ListenerInfo } from '../core/connection.ts';

/** Limits the log entries per minute, because clients can be refused as often as they like. */
const MAX_REPORTED = 20;
const PERIOD_MS = 60_000;

/** Reports why TLS listeners refuse clients: each reason of a listener once a minute, and at most 20 reasons in all. */
export function refusalLog(report: (problem: string, reason: string) => void) {
  const reported = new Set<string>();
  const timer = setInterval(() => reported.clear(), PERIOD_MS).unref();
  const refused = ({ number, port }: ListenerInfo, reason: string): void => {
    const problem = `TLS listener ${number} (port ${port}) refuses clients`;
    const key = `${problem}: ${reason}`;
    if (reported.has(key) || reported.size >= MAX_REPORTED) return;
    reported.add(key);
    report(problem, reason);
  };
  return { refused, close: () => clearInterval(timer) };
}
