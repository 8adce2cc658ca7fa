import { expect, test } from 'vitest';
import type { Requirement } from '../../../src/gateway/graphql/builder.ts';
import type { RequiredRole } from '../../../src/platform/auth/viewer.ts';
import {
  CALLER_NAMES,
  CALLERS,
  controlRefusalOf,
  innerFields,
  refusalOf,
  requirementOf,
  rootFields,
  routeRequirement,
  routes,
} from './rights-model.ts';

const WORDS: Readonly<Record<RequiredRole, string>> = {
  PUBLIC: 'nothing',
  SIGNED_IN: 'credentials',
  PERSON: 'a session',
  VIEWER: 'viewer',
  EDITOR: 'editor',
  ADMIN: 'admin',
  ROOT_ADMIN: 'root administrator',
};

const TITLES = CALLER_NAMES.filter((name) => name !== 'revokedToken').map((name) =>
  name === 'expiredToken' ? 'ended token' : CALLERS[name].title,
);

function row(name: string, requirement: Requirement): string {
  const cells = CALLER_NAMES.filter((caller) => caller !== 'revokedToken').map((caller) => {
    const usual = refusalOf(requirement, CALLERS[caller]);
    const strict = refusalOf(requirement, CALLERS[caller], true);
    const control = controlRefusalOf(requirement, CALLERS[caller]);
    return [
      usual ?? '✓',
      ...(strict === usual ? [] : [`strict ${strict}`]),
      ...(control === usual ? [] : [`control ${control}`]),
    ].join(', ');
  });
  return `| ${[`\`${name}\``, WORDS[requirement.requires], ...cells].join(' | ')} |`;
}

const table = (title: string, rows: readonly string[]): string =>
  [
    `## ${title}`,
    '',
    `| | Requires | ${TITLES.join(' | ')} |`,
    `|${' --- |'.repeat(TITLES.length + 2)}`,
    ...rows.toSorted(),
    '',
  ].join('\n');

const INTRODUCTION = `# Rights

This document is generated from the fields of the graph and the REST operations (\`npx vitest run test/platform/auth/rights-document.test.ts -u\`). \`test/platform/auth/rights-matrix.test.ts\` tests each cell.

✓ means that the caller may use the field or operation. A number is the HTTP status of the refusal; GraphQL returns \`UNAUTHORIZED\` (401), \`NOT_ALLOWED\` (403) or \`NOT_FOUND\` (404). *No credentials*: a request without a session or a token. *No role*: a user without a role in the project. *Root*: a root administrator. *Token elsewhere*: an administrator's token that is restricted to another broker of the project. *Ended token*: an expired or revoked token. *strict*: the refusal in projects with \`hasStrictRoles\`, except for dry runs. *control*: the refusal for changes of rights on \`$CONTROL/\`, with which an account administers the broker.

Rights on \`$CONTROL/\` require the administrator role in every project. Callers below it cannot add a rule that allows a topic below \`$CONTROL/\`. They cannot create, change, disable or delete an account, a group, a role or the anonymous group that has such a rule, or the account that this service connects with. Wildcards in the first level and the default access never reach \`$CONTROL/\`. \`test/domains/access-control/writing/control-rights.test.ts\` tests each verb on the embedded broker and on Mosquitto.
`;

test('docs/rights.md lists what each caller may use', async () => {
  const ofFields = (fields: ReturnType<typeof rootFields>) =>
    fields.map((field) => row(field.name, requirementOf(field) ?? { requires: 'ROOT_ADMIN' }));
  const text = [
    INTRODUCTION,
    table('Queries', ofFields(rootFields('query'))),
    table('Mutations', ofFields(rootFields('mutation'))),
    table('Subscriptions', ofFields(rootFields('subscription'))),
    table(
      'Fields with stricter rights than their parents',
      innerFields().map(({ parent, field }) =>
        row(`${parent.name}.${field.name}`, requirementOf(field) as Requirement),
      ),
    ),
    table(
      'REST',
      routes.map((route) => row(`${route.method} ${route.path}`, routeRequirement(route))),
    ),
  ].join('\n');
  await expect(text).toMatchFileSnapshot('../../../docs/rights.md');
});
