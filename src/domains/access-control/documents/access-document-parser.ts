import type { JsonSchema } from '../../../gateway/rest/route.ts';
import { BOOLEAN, closed } from '../../../gateway/rest/schemas.ts';
import { type InputIssue, invalid, ServiceError } from '../../../platform/errors.ts';
import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import { compileCheck, createValidator } from '../../../platform/text/json-schema.ts';
import { ACL_TYPES, DEFAULT_ACL_TYPES, MAX_PRIORITY } from '../../../protocol/apis/access-control/access-model.ts';
import { nameProblem, plainTextProblem, textProblem } from '../../../protocol/apis/access-control/access-names.ts';
import { filterProblem } from '../../../protocol/mqtt/topics.ts';
import {
  type AccessDocument,
  DOCUMENT_FORMAT,
  DOCUMENT_VERSION,
  type DocumentAcl,
  documentOf,
  policyOf,
} from './access-document.ts';

/** A larger broker does not respond in time. */
const MAX_OBJECTS = 100_000;
/** Maximum number of rules of a role, and of roles or groups of an account. */
const MAX_LIST = 10_000;
const MAX_TEXT = 65_535;
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

/** The document without the entries of its lists, which are checked one by one. */
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

/** Returns the normalized form of `documentOf`. Errors: INVALID with at most 50 issues, with JSON pointers as paths. */
export function* parseDocument(value: unknown): SlicedTask<AccessDocument> {
  checkDocument(value);
  const document = value as AccessDocument;
  const structureIssues = yield* structureIssuesOf(document);
  if (structureIssues.length > 0) throw invalid(structureIssues);
  const issues = yield* issuesOf(document);
  if (issues.length > 0) throw invalid(issues);
  return yield* documentOf(yield* policyOf(document));
}

function* structureIssuesOf(document: AccessDocument): SlicedTask<InputIssue[]> {
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

function* issuesOf(document: AccessDocument): SlicedTask<InputIssue[]> {
  const issues: InputIssue[] = [];
  const report = (path: string, reason: string | null) => {
    if (reason !== null && issues.length < MAX_ISSUES) issues.push({ path, reason });
  };
  function* names<K extends string>(
    path: string,
    objects: readonly Readonly<Record<K, string>>[],
    key: K,
  ): SlicedTask<ReadonlySet<string>> {
    const seen = new Set<string>();
    for (const [i, { [key]: name }] of objects.entries()) {
      report(`${path}/${i}/${key}`, nameProblem(name) ?? (seen.has(name) ? DUPLICATE : null));
      seen.add(name);
      yield;
    }
    return seen;
  }
  const roles = yield* names('/roles', document.roles, 'rolename');
  const groups = yield* names('/groups', document.groups, 'groupname');
  yield* names('/clients', document.clients, 'username');
  const references = (path: string, list: readonly { readonly name: string }[] = [], defined: ReadonlySet<string>) => {
    const seen = new Set<string>();
    for (const [i, { name }] of list.entries()) {
      report(`${path}/${i}/name`, defined.has(name) ? (seen.has(name) ? DUPLICATE : null) : UNDEFINED);
      seen.add(name);
    }
  };
  const texts = (path: string, object: { readonly textName?: string; readonly textDescription?: string }) => {
    report(`${path}/textName`, plainTextProblem(object.textName ?? ''));
    report(`${path}/textDescription`, plainTextProblem(object.textDescription ?? ''));
  };

  const { anonymousGroup } = document;
  if (anonymousGroup !== undefined && !groups.has(anonymousGroup)) report('/anonymousGroup', UNDEFINED);
  for (const [i, role] of document.roles.entries()) {
    texts(`/roles/${i}`, role);
    aclIssues(`/roles/${i}/acls`, role.acls ?? [], report);
    yield;
  }
  for (const [i, group] of document.groups.entries()) {
    texts(`/groups/${i}`, group);
    references(`/groups/${i}/roles`, group.roles, roles);
    yield;
  }
  for (const [i, client] of document.clients.entries()) {
    texts(`/clients/${i}`, client);
    report(`/clients/${i}/clientId`, textProblem(client.clientId ?? ''));
    references(`/clients/${i}/roles`, client.roles, roles);
    references(`/clients/${i}/groups`, client.groups, groups);
    yield;
  }
  return issues;
}

function aclIssues(
  path: string,
  acls: readonly DocumentAcl[],
  report: (path: string, reason: string | null) => void,
): void {
  const seen = new Set<string>();
  for (const [i, { aclType, topic }] of acls.entries()) {
    const rule = `${aclType} ${topic}`;
    report(
      `${path}/${i}/topic`,
      filterProblem(topic) ?? textProblem(topic) ?? (seen.has(rule) ? DUPLICATE_RULE : null),
    );
    seen.add(rule);
  }
}

const DUPLICATE = 'is a duplicate';
const DUPLICATE_RULE = 'is a duplicate for this aclType';
const UNDEFINED = 'is not defined in this document';
