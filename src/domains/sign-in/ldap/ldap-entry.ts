import type { Entry } from 'ldapts';

/** Bit of `userAccountControl` for a disabled account: [MS-ADTS] 2.2.16. */
const ACCOUNT_DISABLED = 2;
/** Value of `accountExpires` for an account that does not expire, as 0: [MS-ADA1] 2.1. */
const NEVER = 2n ** 63n - 1n;
/** 1970 in the unit of `accountExpires`: 100 ns since 1601. */
const EPOCH = 116_444_736_000_000_000n;
/** Value of `pwdAccountLockedTime` if an administrator has locked the account (draft-behera-ldap-password-policy). */
const PERMANENTLY_LOCKED = '000001010000Z';
export const ATTRIBUTES = [
  'mail',
  'displayName',
  'cn',
  'entryUUID',
  'objectGUID',
  'userAccountControl',
  'pwdAccountLockedTime',
  'nsAccountLock',
  'accountExpires',
  'loginDisabled',
  'msDS-UserAccountDisabled',
];

/** The attributes by the names above: servers may spell them in another case (RFC 4512 2.5). */
export const withPlainNames = (entry: Entry): Entry => ({
  ...entry,
  ...Object.fromEntries(
    Object.entries(entry).map(([name, value]) => [BY_LOWER_CASE.get(name.toLowerCase()) ?? name, value]),
  ),
});
const BY_LOWER_CASE = new Map(ATTRIBUTES.map((name) => [name.toLowerCase(), name]));

/** Identifies a user, also after the distinguished name has changed, if the server has such an attribute. */
export const subjectOf = ({ dn, entryUUID, objectGUID }: Entry): string =>
  first(entryUUID) ?? hex(objectGUID) ?? dn.toLowerCase();

/** The first value of an attribute; `null` if there is none. */
export function first(value: Entry[string] | undefined): string | null {
  const one = Array.isArray(value) ? value[0] : value;
  return one === undefined || one.length === 0 ? null : String(one);
}

function hex(value: Entry[string] | undefined): string | null {
  const one = Array.isArray(value) ? value[0] : value;
  return Buffer.isBuffer(one) && one.length > 0 ? one.toString('hex') : null;
}

/**
 * Whether the account is locked in Active Directory, the password policy of OpenLDAP, 389 Directory Server or
 * eDirectory. `isAccepted`: the server has just accepted the password, so that a lock for some time has ended.
 */
export function isLocked(entry: Entry, isAccepted = false): boolean {
  if ((Number(first(entry.userAccountControl) ?? 0) & ACCOUNT_DISABLED) !== 0) return true;
  if (['nsAccountLock', 'loginDisabled', 'msDS-UserAccountDisabled'].some((name) => isTrue(entry[name]))) return true;
  const lockedAt = first(entry.pwdAccountLockedTime);
  if (isAccepted ? lockedAt === PERMANENTLY_LOCKED : lockedAt !== null) return true;
  return hasExpired(first(entry.accountExpires));
}

const isTrue = (value: Entry[string] | undefined): boolean => first(value)?.toLowerCase() === 'true';

function hasExpired(expires: string | null): boolean {
  if (expires === null || !/^\d{1,19}$/.test(expires)) return false;
  const time = BigInt(expires);
  return time > 0n && time < NEVER && (time - EPOCH) / 10_000n <= BigInt(Date.now());
}
