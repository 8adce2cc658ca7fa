/** The versions of Node that the product runs on, as `engines` of package.json has them. */
const SUPPORTED = '^22.12 || ^24 || >=26';

/** Why the product does not run on a version of Node (`22.12.0`), in one sentence; `null` if it does. */
export function nodeRefusal(version: string): string | null {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isSupported = (major === 22 && minor >= 12) || major === 24 || major >= 26;
  return isSupported
    ? null
    : `Brokergraph does not run on Node ${version}: install Node 24, or another of ${SUPPORTED}.`;
}
