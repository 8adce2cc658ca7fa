import { type ErrorCode, ServiceError } from '../../platform/errors.ts';

/** Error codes by the texts of refusals. The first matching row applies; without one the code is BROKER_REJECTED. */
const MEANINGS: readonly (readonly [RegExp, ErrorCode])[] = [
  [/endpoint not available|^unknown command$/i, 'NOT_SUPPORTED_BY_BROKER'],
  // Before "does not exist": a reference in the input is wrong, not the requested object.
  [/'(roles|groups|clients)' (contains|not an array)/i, 'INVALID'],
  [/not found|does not exist/i, 'NOT_FOUND'],
  [/^a replay of this stream is running|^the client is connected/i, 'IN_USE'],
  [/\balready\b/i, 'ALREADY_EXISTS'],
  [
    /^(invalid|missing|empty)\b|not valid|unknown acltype|not an (array|object)|not allowed to be empty|is not allowed$/i,
    'INVALID',
  ],
];

const MAX_TEXT = 500;

const NAMES = ['username', 'groupname', 'rolename', 'clientid', 'streamname', 'clustername', 'file_name'] as const;

/** The fields that a text refers to: "Role not found" of `addClientRole` refers to the role, not to the client. */
const SUBJECTS: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^client id\b/i, ['clientid']],
  [/^('roles'|role)(?!\w)/i, ['rolename', 'roles']],
  [/^('groups'|group)(?!\w)/i, ['groupname', 'groups']],
  [/^('clients'|client)(?!\w)/i, ['username', 'clientid', 'clients']],
  [/^acl\b|^topic\b|acl topic$/i, ['topic']],
  [/acltype$/i, ['acltype']],
];

export function meaningOf(text: string): ErrorCode {
  for (const [pattern, code] of MEANINGS) if (pattern.test(text)) return code;
  return 'BROKER_REJECTED';
}

export function refusalOf(
  api: string,
  command: string,
  error: string,
  fields: Readonly<Record<string, unknown>> = {},
): ServiceError {
  const brokerError = error.slice(0, MAX_TEXT);
  const name = nameOf(brokerError, fields)?.slice(0, MAX_TEXT);
  const code = meaningOf(brokerError);
  const info = { brokerError, api, command, ...(name === undefined ? {} : { name }) };
  if (code === 'NOT_SUPPORTED_BY_BROKER') {
    return new ServiceError(code, `The broker does not support ${command} of ${api}`, { info });
  }
  return new ServiceError(code, name === undefined ? brokerError : `${brokerError}: "${name}"`, { info });
}

/** The name of the object that the text refers to; `undefined` if it is ambiguous or has no name. */
function nameOf(text: string, fields: Readonly<Record<string, unknown>>): string | undefined {
  const subject = SUBJECTS.find(([pattern]) => pattern.test(text))?.[1];
  for (const key of subject ?? NAMES) {
    const value = fields[key];
    if (typeof value === 'string') return value;
    if (Array.isArray(value)) return value.length === 1 ? nameOfEntry(value[0]) : undefined;
  }
  return undefined;
}

function nameOfEntry(entry: unknown): string | undefined {
  const fields = typeof entry === 'object' && entry !== null ? (entry as Readonly<Record<string, unknown>>) : {};
  const key = NAMES.find((name) => typeof fields[name] === 'string');
  return key === undefined ? undefined : String(fields[key]);
}
