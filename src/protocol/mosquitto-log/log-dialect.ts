/** A wording of Mosquitto's log, by the first version that has it. */
export type LogDialect = '2.0.0' | '2.0.13' | '2.1.0' | '2.1.1';

/**
 * The wording of a version; `null` if the version is not known.
 *
 * @param version as in `$SYS/broker/version`: `mosquitto version 2.0.22`
 */
export function dialectOf(version: string): LogDialect | null {
  const [, series, patch] = /\b(2\.[01])\.(\d{1,4})\b/.exec(version) ?? [];
  if (series === '2.0') return Number(patch) < 13 ? '2.0.0' : '2.0.13';
  if (series === '2.1') return Number(patch) < 1 ? '2.1.0' : '2.1.1';
  return null;
}
