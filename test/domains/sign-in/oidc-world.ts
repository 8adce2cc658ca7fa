import { startOidc, type TestOidc } from '../../support/oidc.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { keptLog, type LoggedLine } from './sign-in-steps.ts';
import { WebVisitor } from './web-visitor.ts';

const COMPLETE =
  'mutation ($input: CompleteSignInInput!) { completeSignIn(input: $input) { token user { id email name isVerified ssoType } } }';

interface SignInWorld {
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
  const { log, lines } = keptLog();
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

interface SignedIn {
  readonly token: string;
  readonly user: {
    readonly id: string;
    readonly email: string;
    readonly name: string;
    readonly isVerified: boolean;
    readonly ssoType: string;
  };
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
