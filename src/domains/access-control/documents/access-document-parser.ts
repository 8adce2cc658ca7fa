import type { JsonSchema } from '../../../gateway/rest/route.ts';
import { BOOLEAN, closed } from '../../../gateway/rest/schemas.ts';
import { type InputIssue, invalid, ServiceError } from '../../../platform/errors.ts';
import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import { compileCheck, createValidator } from '../../../platform/text/json-schema.ts';
import { filterProblem } from '../../../protocol/mqtt/topics.ts';
import { ACL_TYPES, DEFAULT_ACL_TYPES, MAX_PRIORITY } from '../policy/access-model.ts';
import { nameProblem, plainTextProblem, textProblem } from '../policy/access-names.ts';
import {
  type AccessDocument,
  DOCUMENT_FORMAT,
  DOCUMENT_VERSION,
  type DocumentAcl,
  documentOf,
  policyOf,
} from './access-document.ts';

/** Of each kind: more than any broker has that answers in time. */
const MAX_OBJECTS = 100_000;
/** Rules of a role, roles or groups of an account. */
const MAX_LIST = 10_000;
const MAX_TEXT = 65_535;
/** More issues help nobody. */
const MAX_ISSUES = 50;

const NAME: JsonSchema = { type: 'string', minLength: 1, maxLength: MAX_TEXT };
const TEXT: JsonSchema = { type: 'string', maxLength: MAX_TEXT };
const TEXTS = { textName: TEXT, textDescription: TEXT };
const PRIORITY: JsonSchema = { type: 'integer', minimum: -MAX_PRIORITY, maximum: MAX_PRIORITY };

const list = (items: JsonSchema, maxItems: number): JsonSchema => ({ type: 'array', maxItems, items });
const OBJECTS = list({}, MAX_OBJECTS);
const MEMBERSHIPS = list(closed({ name: NAME, priority: PRIORITY }, { required: ['name'] }), MAX_LIST);
const ACLS = list(
  closed(
    { aclType: { type: 'string', enum: ACL_TYPES }, topic: NAME, priority: PRIORITY, allow: BOOLEAN },
    { required: ['aclType', 'topic', 'allow'] },
  ),
  MAX_LIST,
);
const LISTED = {
  roles: closed({ rolename: NAME, ...TEXTS, allowWildcardSubs: BOOLEAN, acls: ACLS }, { required: ['rolename'] }),
  groups: closed({ groupname: NAME, ...TEXTS, roles: MEMBERSHIPS }, { required: ['groupname'] }),
  clients: closed(
    { username: NAME, clientId: TEXT, ...TEXTS, disabled: BOOLEAN, roles: MEMBERSHIPS, groups: MEMBERSHIPS },
    { required: ['username'] },
  ),
};

/** A document around what its lists hold; what a schema cannot say is checked after it. */
const DOCUMENT = closed(
  {
    format: { const: DOCUMENT_FORMAT },
    version: { const: DOCUMENT_VERSION },
    defaultAcl: closed(Object.fromEntries(DEFAULT_ACL_TYPES.map((type) => [type, BOOLEAN]))),
    anonymousGroup: NAME,
    roles: OBJECTS,
    groups: OBJECTS,
    clients: OBJECTS,
  },
  { required: ['format', 'version', 'defaultAcl', 'roles', 'groups', 'clients'] },
);

const validator = createValidator();
const checkDocument = compileCheck(validator, DOCUMENT);
const CHECKS = {
  roles: compileCheck(validator, LISTED.roles),
  groups: compileCheck(validator, LISTED.groups),
  clients: compileCheck(validator, LISTED.clients),
};

/**
 * The document that a value is, in the order and with the keys that `documentOf` writes. Errors: INVALID with up to 50 issues,
 * paths as JSON pointers: what is not the shape or size of a document; names and topics that no broker takes; names and rules
 * given twice; references that nothing defines.
 */
export function* parseDocument(value: unknown): SlicedTask<AccessDocument> {
  checkDocument(value);
  const document = value as AccessDocument;
  const misshapen = yield* shapeIssuesOf(document);
  if (misshapen.length > 0) throw invalid(misshapen);
  const issues = yield* issuesOf(document);
  if (issues.length > 0) throw invalid(issues);
  return yield* documentOf(yield* policyOf(document));
}

function* shapeIssuesOf(document: AccessDocument): SlicedTask<InputIssue[]> {
  const issues: InputIssue[] = [];
  for (const part of ['roles', 'groups', 'clients'] as const) {
    for (const [i, object] of document[part].entries()) {
      try {
        CHECKS[part](object, `/${part}/${i}`);
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        issues.push(...((error.info?.issues ?? []) as InputIssue[]));
        if (issues.length >= MAX_ISSUES) return issues.slice(0, MAX_ISSUES);
      }
      yield;
    }
  }
  return issues;
}

/** What nobody can hold; every name is also the definition that references are looked up in. */
function* issuesOf(document: AccessDocument): SlicedTask<InputIssue[]> {
  const issues: InputIssue[] = [];
  const tell = (path: string, reason: string | null) => {
    if (reason !== null && issues.length < MAX_ISSUES) issues.push({ path, reason });
  };
  function* names<K extends string>(
    path: string,
    objects: readonly Readonly<Record<K, string>>[],
    key: K,
  ): SlicedTask<ReadonlySet<string>> {
    const known = new Set<string>();
    for (const [i, { [key]: name }] of objects.entries()) {
      tell(`${path}/${i}/${key}`, nameProblem(name) ?? (known.has(name) ? TWICE : null));
      known.add(name);
      yield;
    }
    return known;
  }
  const roles = yield* names('/roles', document.roles, 'rolename');
  const groups = yield* names('/groups', document.groups, 'groupname');
  yield* names('/clients', document.clients, 'username');
  const references = (path: string, list: readonly { readonly name: string }[] = [], defined: ReadonlySet<string>) => {
    const known = new Set<string>();
    for (const [i, { name }] of list.entries()) {
      tell(`${path}/${i}/name`, defined.has(name) ? (known.has(name) ? TWICE : null) : UNDEFINED);
      known.add(name);
    }
  };
  const texts = (path: string, object: { readonly textName?: string; readonly textDescription?: string }) => {
    tell(`${path}/textName`, plainTextProblem(object.textName ?? ''));
    tell(`${path}/textDescription`, plainTextProblem(object.textDescription ?? ''));
  };

  if (document.anonymousGroup !== undefined && !groups.has(document.anonymousGroup)) tell('/anonymousGroup', UNDEFINED);
  for (const [i, role] of document.roles.entries()) {
    texts(`/roles/${i}`, role);
    aclIssues(`/roles/${i}/acls`, role.acls ?? [], tell);
    yield;
  }
  for (const [i, group] of document.groups.entries()) {
    texts(`/groups/${i}`, group);
    references(`/groups/${i}/roles`, group.roles, roles);
    yield;
  }
  for (const [i, client] of document.clients.entries()) {
    texts(`/clients/${i}`, client);
    tell(`/clients/${i}/clientId`, textProblem(client.clientId ?? ''));
    references(`/clients/${i}/roles`, client.roles, roles);
    references(`/clients/${i}/groups`, client.groups, groups);
    yield;
  }
  return issues;
}

function aclIssues(
  path: string,
  acls: readonly DocumentAcl[],
  tell: (path: string, reason: string | null) => void,
): void {
  const known = new Set<string>();
  for (const [i, { aclType, topic }] of acls.entries()) {
    const rule = `${aclType} ${topic}`;
    tell(`${path}/${i}/topic`, filterProblem(topic) ?? textProblem(topic) ?? (known.has(rule) ? TWICE_IN_TYPE : null));
    known.add(rule);
  }
}

const TWICE = 'is given twice';
const TWICE_IN_TYPE = 'is given twice for this aclType';
const UNDEFINED = 'is not defined in this document';
