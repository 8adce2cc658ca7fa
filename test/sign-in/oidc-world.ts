import { pino } from 'pino';
import { startOidc, type TestOidc } from '../support/oidc.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { WebVisitor } from './web-visitor.ts';

const COMPLETE =
  'mutation ($input: CompleteSignInInput!) { completeSignIn(input: $input) { token user { id email name verified } } }';
const CREATE_RULES =
  'mutation ($input: CreateSignInRulesInput!) { createSignInRules(input: $input) { rules { id provider claimPath pattern role } } }';

export interface LoggedLine {
  readonly level: number;
  readonly msg: string;
  readonly reason?: string;
  readonly error?: string;
}

export interface SignInWorld {
  readonly service: TestService;
  readonly oidc: TestOidc;
  /** What the service logged, from `warn` on, and `info`. */
  readonly lines: LoggedLine[];
}

/** A service with its OpenID provider, who knows ada of the group plant-ops. */
export async function startSignInWorld(env: Readonly<Record<string, string>> = {}): Promise<SignInWorld> {
  const oidc = await startOidc();
  oidc.people.set('ada', {
    email: 'ada@example.com',
    email_verified: true,
    name: 'Ada Lovelace',
    groups: ['plant-ops', 'staff'],
  });
  const lines: LoggedLine[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const service = await startTestService({ env: { ...oidc.env, ...env }, log });
  oidc.serve(service.config.publicUrl ?? service.url);
  return { service, oidc, lines };
}

export function beginAddress({ url }: Pick<TestService, 'url'>, parameters: Record<string, string> = {}): string {
  return `${url}/auth/oidc?${new URLSearchParams(parameters)}`;
}

/** What the address has behind its `#`. */
export function fragmentOf(address: URL): { readonly code: string | null; readonly error: string | null } {
  const fragment = new URLSearchParams(address.hash.slice(1));
  return { code: fragment.get('code'), error: fragment.get('error') };
}

export const complete = (service: TestService, input: { readonly code: string; readonly verifier?: string }) =>
  service.graphql(COMPLETE, { input }, null);

export interface SignedIn {
  readonly token: string;
  readonly user: { readonly id: string; readonly email: string; readonly name: string; readonly verified: boolean };
}

/** The whole way of a person to a session. */
export async function signIn(service: TestService, login: string): Promise<SignedIn> {
  const { code, error } = fragmentOf(await new WebVisitor().signIn(beginAddress(service), login));
  if (code === null) throw new Error(`${login} did not get in: ${error}`);
  const { data, errors } = await complete(service, { code });
  if (errors) throw new Error(JSON.stringify(errors));
  return data.completeSignIn;
}

/** Why a person does not get in. */
export async function refusalOf(service: TestService, login: string): Promise<string | null> {
  return fragmentOf(await new WebVisitor().signIn(beginAddress(service), login)).error;
}

export async function addRule(
  service: TestService,
  rule: Readonly<Record<string, string>>,
  token = service.root,
): Promise<string> {
  const input = { projectId: service.projectId, rules: [{ provider: 'SSO', role: 'EDITOR', ...rule }] };
  const { data, errors } = await service.graphql(CREATE_RULES, { input }, token);
  if (errors) throw new Error(JSON.stringify(errors));
  return data.createSignInRules.rules[0].id;
}

/** The role that a session has in the service's project; null: the project is out of its sight; the code where it has ended. */
export async function roleOf(service: TestService, token: string): Promise<string | null> {
  const query = 'query ($id: ID!) { project(id: $id) { viewerRole } }';
  const { data, errors } = await service.graphql(query, { id: service.projectId }, token);
  if (errors?.[0]?.extensions.code === 'UNAUTHORIZED') return 'UNAUTHORIZED';
  return data?.project?.viewerRole ?? null;
}

/** Asks the providers about everybody, now. */
export const checkNow = (service: TestService): Promise<void> => service.services.signIn.checks.run(0);
