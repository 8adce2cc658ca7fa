import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

/**
 * What real Mosquittos logged, line by line, without timestamps. Recorded on loopback, each version with the same
 * configuration (dynamic security, all log types, listeners for TCP, TLS, mutual TLS, WebSocket and a Unix socket) and
 * the same clients: raw sockets that connect, are refused, take over sessions and break the protocol, and restarts.
 */
export interface Recording {
  /** `mosquitto version …`, as in `$SYS/broker/version`. */
  readonly version: string;
  readonly scenarios: readonly Scenario[];
}

export interface Scenario {
  readonly name: string;
  readonly log: readonly RecordedLine[];
}

/** The topic below `$SYS/broker/log/`, the line, and the state after it, if it is certain. */
export type RecordedLine = readonly [level: string, text: string, state?: RecordedState];

/** According to what the clients saw, not to the log. */
export interface RecordedState {
  readonly connected: readonly string[];
  /** Number of open sockets without an admitted client. */
  readonly others: number;
}

export const RECORDED_VERSIONS = ['2.0.11', '2.0.22', '2.1.0', '2.1.2'] as const;
type RecordedVersion = (typeof RECORDED_VERSIONS)[number];

export function readRecording(version: RecordedVersion): Recording {
  const file = readFileSync(new URL(`recordings/${version}.json.gz`, import.meta.url));
  const { scenarios } = JSON.parse(gunzipSync(file).toString());
  return { version: `mosquitto version ${version}`, scenarios };
}

export function linesOf({ scenarios }: Recording, name: string): readonly RecordedLine[] {
  const scenario = scenarios.find((one) => one.name === name);
  if (scenario === undefined) throw new Error(`No scenario ${name}`);
  return scenario.log;
}
