import { headerIssues, urlIssues } from '../../../data-plane/bridges/webhook/webhook-bridge-kind.ts';
import { secretProblem } from '../../../data-plane/bridges/webhook/webhook-signature.ts';
import type { InputIssue } from '../../../platform/errors.ts';
import { isEmailAddress, MAX_NAME, textIssues } from '../../../platform/text/texts.ts';
import type { Nullish } from '../../../platform/without-nulls.ts';
import type { AllowedHosts } from '../../../protocol/network/allowed-hosts.ts';
import { PROBLEM_SEVERITIES } from '../../problems/model/problem-kinds.ts';
import { contentOf, type NotificationContent, testContent } from '../notification-content.ts';
import { losesProblems, templateProblem } from './body-template.ts';
import type { StoredSubscription, WebhookSecrets } from './channel-target.ts';
import type { NotificationRules } from './notification-rules.ts';
import { MAX_DOCUMENT, MAX_VARIABLES } from './subscription-body.ts';

interface NamedValue {
  readonly name: string;
  readonly value: string;
}

interface WebhookInput {
  readonly url: string;
  readonly secret?: string | null | undefined;
  readonly headers?: readonly NamedValue[] | null | undefined;
  readonly credentials?: readonly NamedValue[] | null | undefined;
  readonly template?: string | null | undefined;
  readonly document?: string | null | undefined;
  readonly variables?: unknown;
}

interface EmailInput {
  readonly to: readonly string[];
}

interface MqttInput {
  readonly brokerId: string;
  readonly topic: string;
  readonly qos?: number | null | undefined;
}

/** Exactly one member. */
export type TargetInput = Nullish<{
  readonly webhook: WebhookInput;
  readonly email: EmailInput;
  readonly mqtt: MqttInput;
}>;

const MAX_URL = 2_000;
const MAX_SECRET = 2_000;
const MAX_VALUE = 8_192;
const MAX_VALUES = 20;
const MAX_RECIPIENTS = 20;
const CREDENTIAL_NAME = /^[A-Za-z][A-Za-z0-9]{0,49}$/;

export const nameIssues = (name: string): InputIssue[] => [
  ...textIssues('input.name', name.trim(), { min: 1, max: MAX_NAME }),
];

export const secretsOf = ({ url, secret, headers, credentials }: WebhookInput): WebhookSecrets => ({
  url,
  secret: secret ?? null,
  headers: recordOf(headers),
  credentials: recordOf(credentials),
});

/** `null` without a document. */
export const subscriptionOf = ({ document, variables }: WebhookInput): StoredSubscription | null =>
  document == null ? null : { document, variables: (variables ?? {}) as StoredSubscription['variables'] };

const recordOf = (values: readonly NamedValue[] | null | undefined): Record<string, string> =>
  Object.fromEntries((values ?? []).map(({ name, value }) => [name, value]));

/** Issues at `input.target.webhook.…`. */
export function webhookIssues(input: WebhookInput, hosts: AllowedHosts): InputIssue[] {
  const { url, secret, headers, credentials, template, document, variables } = input;
  const problem = secret == null ? null : secretProblem(secret);
  const found: InputIssue[] = [
    ...textIssues('url', url, { max: MAX_URL }),
    ...urlIssues(url, hosts),
    ...textIssues('secret', secret, { max: MAX_SECRET }),
    ...(problem === null ? [] : [{ path: 'secret', reason: problem }]),
    ...valueIssues('headers', headers),
    ...headerIssues(recordOf(headers)),
    ...valueIssues('credentials', credentials),
    ...(credentials ?? []).flatMap(({ name }) =>
      CREDENTIAL_NAME.test(name) ? [] : [{ path: 'credentials', reason: 'must have names of letters and digits' }],
    ),
    ...textIssues('template', template, { max: Number.POSITIVE_INFINITY }),
  ];
  found.push(...textIssues('document', document, { max: MAX_DOCUMENT }));
  if (document != null && template != null)
    found.push({ path: 'document', reason: 'cannot be combined with template' });
  if (variables != null && !isVariables(variables)) found.push({ path: 'variables', reason: VARIABLES });
  const fault = template == null ? null : templateProblem(template, recordOf(credentials), SAMPLES);
  if (fault !== null) found.push({ path: 'template', reason: fault });
  return found.map(({ path, reason }) => ({ path: `input.target.webhook.${path.replace(/^\//, '')}`, reason }));
}

/** Issues of a template for these rules. `path`: of what the caller changes. */
export function digestIssues(
  { digestMinutes }: NotificationRules,
  template: string | null | undefined,
  path: string,
): InputIssue[] {
  if (digestMinutes === 0 || template == null || !losesProblems(template)) return [];
  return [{ path, reason: 'needs a template with a section {{#problems}}: a digest has several problems' }];
}

const VARIABLES = `must be an object of at most ${MAX_VARIABLES} characters`;

const isVariables = (value: unknown): boolean =>
  typeof value === 'object' && !Array.isArray(value) && JSON.stringify(value).length <= MAX_VARIABLES;

function valueIssues(path: string, values: readonly NamedValue[] | null | undefined): InputIssue[] {
  const all = values ?? [];
  if (all.length > MAX_VALUES) return [{ path, reason: `must have at most ${MAX_VALUES} entries` }];
  const names = new Set(all.map(({ name }) => name));
  return [
    ...(names.size < all.length ? [{ path, reason: 'must not have a name twice' }] : []),
    ...all.flatMap(({ value }, index) => textIssues(`${path}.${index}.value`, value, { max: MAX_VALUE })),
  ];
}

export function emailIssues({ to }: EmailInput): InputIssue[] {
  const path = 'input.target.email.to';
  const bounds = to.length === 0 || to.length > MAX_RECIPIENTS;
  return [
    ...(bounds ? [{ path, reason: `must have 1 to ${MAX_RECIPIENTS} addresses` }] : []),
    ...to
      .slice(0, MAX_RECIPIENTS)
      .flatMap((address, index) =>
        isMailbox(address) ? [] : [{ path: `${path}.${index}`, reason: 'must be an e-mail address' }],
      ),
  ];
}

/** Without characters that begin another address or a comment in a header. */
const isMailbox = (address: string): boolean => isEmailAddress(address) && !/[<>()[\],;:\\"]/.test(address);

const SAMPLES: readonly NotificationContent[] = samples();

/** Every change and severity of a problem of a broker, of a project and of the service. */
function samples(): NotificationContent[] {
  const at = new Date(0);
  const project = { id: 'prj_x', name: 'A "project"' };
  const broker = { id: 'brk_x', name: 'A "broker"' };
  const [test, ofService] = [testContent(project, at), testContent(null, at)];
  const notices = [
    ...[...test.notices, ...ofService.notices],
    ...test.notices.map((notice) => ({ ...notice, broker, subject: broker })),
  ].flatMap((notice) =>
    PROBLEM_SEVERITIES.flatMap((severity) => [
      { ...notice, severity },
      { ...notice, severity, change: 'CLOSED' as const, closedAt: notice.openedAt },
    ]),
  );
  const [first, ...rest] = notices;
  const digest = first === undefined ? [] : [contentOf([first, ...rest.slice(-1)], at)];
  return [test, ofService, ...notices.map((notice) => contentOf([notice], at)), ...digest];
}
