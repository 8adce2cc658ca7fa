import { isDeeper } from '../../../platform/text/json-depth.ts';

export type Claims = Readonly<Record<string, unknown>>;

/**
 * The values at a path of member names separated by dots. A name may contain dots (`https://example.com/groups`). All
 * entries of lists are included. Numbers and booleans become strings. Objects are ignored, and so are
 * numbers beyond 2^53, of which JSON.parse has lost digits: they could equal another number.
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
  if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER) return [];
  return ['string', 'number', 'boolean'].includes(typeof value) ? [String(value)] : [];
}

const MAX_CLAIMS = 64 * 1_024;
const MAX_DEPTH = 6;
export const OMITTED_CLAIMS = 'omitted claims of a user that are too large or too deeply nested';
/** Claims about the token, not about the user. */
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
 * Limits the size of claims, preferring the `first` ones. Rules only grant roles, so an omitted claim never grants too
 * much.
 */
export function limitedClaims(
  claims: Claims,
  first: readonly string[],
): { readonly included: Claims; readonly omitted: string[] } {
  const names = [...new Set([...first, ...Object.keys(claims)])];
  // Without a prototype: a claim may be called `__proto__`.
  const included: Record<string, unknown> = Object.create(null);
  const omitted: string[] = [];
  let bytesLeft = MAX_CLAIMS;
  for (const name of names) {
    if (!Object.hasOwn(claims, name) || PROTOCOL_CLAIMS.has(name)) continue;
    // Checked first: JSON.stringify overflows the stack for deeply nested claims.
    const isTooDeep = isDeeper(claims[name], MAX_DEPTH);
    const bytes = isTooDeep ? 0 : Buffer.byteLength(JSON.stringify({ [name]: claims[name] }));
    if (isTooDeep || bytes > bytesLeft) {
      omitted.push(name);
      continue;
    }
    bytesLeft -= bytes;
    included[name] = claims[name];
  }
  return { included, omitted };
}
