import type { Entry } from 'ldapts';

/** Bit of `userAccountControl` for a disabled account: [MS-ADTS] 2.2.16. */
const ACCOUNT_DISABLED = 2;
export const ATTRIBUTES = [
  'mail',
  'displayName',
  'cn',
  'entryUUID',
  'objectGUID',
  'userAccountControl',
  'pwdAccountLockedTime',
  'nsAccountLock',
];

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

/** Whether the account is locked in Active Directory, the password policy of OpenLDAP or 389 Directory Server. */
export function isLocked({ userAccountControl, pwdAccountLockedTime, nsAccountLock }: Entry): boolean {
  if ((Number(first(userAccountControl) ?? 0) & ACCOUNT_DISABLED) !== 0) return true;
  return first(pwdAccountLockedTime) !== null || first(nsAccountLock)?.toLowerCase() === 'true';
}
