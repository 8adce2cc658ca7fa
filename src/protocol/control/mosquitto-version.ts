type MosquittoVersion = readonly [major: number, minor: number, patch: number];

/** Reads `$SYS/broker/version`, such as `mosquitto version 2.0.22`. `null` if the broker is no Mosquitto. */
export function mosquittoVersionOf(text: string | null): MosquittoVersion | null {
  const found = /mosquitto.*?(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?/i.exec(text ?? '');
  return found && [Number(found[1]), Number(found[2]), Number(found[3] ?? 0)];
}

/** `false` for `null`. */
export function isAtLeast(version: MosquittoVersion | null, least: MosquittoVersion): boolean {
  if (version === null) return false;
  const index = version.findIndex((part, at) => part !== least[at]);
  return index === -1 || (version[index] as number) > (least[index] as number);
}
