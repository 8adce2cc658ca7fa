/** What a provider tells of a person, by name; JSON. */
export type Claims = Readonly<Record<string, unknown>>;

/**
 * The values at a path: names of nested members with dots between them. A name may have dots itself (`https://example.com/groups`);
 * of lists every entry is looked at. Numbers and truth values are told as text; objects are no values.
 */
export function valuesAt(claims: unknown, path: string): string[] {
  if (Array.isArray(claims)) return claims.flatMap((entry) => valuesAt(entry, path));
  if (typeof claims !== 'object' || claims === null) return [];
  const found: string[] = [];
  const members = claims as Claims;
  for (let end = path.indexOf('.'); end >= 0; end = path.indexOf('.', end + 1)) {
    const name = path.slice(0, end);
    if (Object.hasOwn(members, name)) found.push(...valuesAt(members[name], path.slice(end + 1)));
  }
  if (Object.hasOwn(members, path)) found.push(...textsOf(members[path]));
  return found;
}

function textsOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(textsOf);
  return ['string', 'number', 'boolean'].includes(typeof value) ? [String(value)] : [];
}

/** What is kept of a person's claims: so much JSON. */
const MAX_CLAIMS = 64 * 1_024;
const MAX_DEPTH = 6;
/** Of tokens and not of people. */
const PROTOCOL_CLAIMS = new Set([
  'aud',
  'azp',
  'exp',
  'iat',
  'nbf',
  'jti',
  'nonce',
  'at_hash',
  'c_hash',
  's_hash',
  'auth_time',
  'sid',
]);

/**
 * The claims that are kept, the named ones first, and the names of those that found no place. Rules only give roles, so a claim that
 * is left out gives nobody too much.
 */
export function keptClaims(
  claims: Claims,
  first: readonly string[],
): { readonly kept: Claims; readonly left: string[] } {
  const names = [...new Set([...first, ...Object.keys(claims)])];
  // Without a prototype: a claim may be called `__proto__`.
  const kept: Record<string, unknown> = Object.create(null);
  const left: string[] = [];
  let room = MAX_CLAIMS;
  for (const name of names) {
    if (!Object.hasOwn(claims, name) || PROTOCOL_CLAIMS.has(name)) continue;
    // First of all: a claim can be nested so deep that nothing can write it.
    const isTooDeep = isDeeper(claims[name], MAX_DEPTH);
    const bytes = isTooDeep ? 0 : Buffer.byteLength(JSON.stringify({ [name]: claims[name] }));
    if (isTooDeep || bytes > room) {
      left.push(name);
      continue;
    }
    room -= bytes;
    kept[name] = claims[name];
  }
  return { kept, left };
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}
