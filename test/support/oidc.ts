import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider, { type Configuration } from 'oidc-provider';
import { onTestFinished } from './shared.ts';

/** The claims of a user at the provider. Tests change them. */
interface ProviderPerson {
  email?: unknown;
  email_verified?: boolean;
  name?: string;
  groups?: string[];
  /** Entra ID: in place of groups, and the name of a user. */
  hasgroups?: boolean;
  _claim_names?: object;
  upn?: string;
}

export interface TestOidc {
  readonly issuer: string;
  /** Environment variables of a service that uses this provider. */
  readonly env: Readonly<Record<string, string>>;
  /** Users by log-in name, which is also their `sub`. The provider accepts any password. A test may delete entries. */
  readonly people: Map<string, ProviderPerson>;
  /** Closes the server, so that requests receive no response. */
  stop(): Promise<void>;
  /** Listens on the same port again, with the previous state. */
  startAgain(): Promise<void>;
  /** Registers a service. Its address is known only after its start. `idToken` replaces each issued ID token. */
  serve(serviceUrl: string, options?: Configuration, idToken?: (given: string) => Promise<string>): void;
}

const CLIENT = { id: 'brokergraph', secret: 'the secret of the client at the provider' } as const;

/** Starts an OpenID provider in this process, on a free port of loopback, with refresh tokens, forms and `groups`. */
export async function startOidc(): Promise<TestOidc> {
  const people = new Map<string, ProviderPerson>();
  let handle: ReturnType<Provider['callback']> | null = null;
  let server = serverOf(() => handle);
  const port = await listen(server, 0);
  onTestFinished(() => close(server));
  const issuer = `http://127.0.0.1:${port}`;
  return {
    issuer,
    people,
    env: {
      OIDC_ISSUER: issuer,
      OIDC_CLIENT_ID: CLIENT.id,
      OIDC_CLIENT_SECRET: CLIENT.secret,
      OIDC_SCOPES: 'openid profile email groups',
    },
    stop: () => close(server),
    startAgain: async () => {
      server = serverOf(() => handle);
      await listen(server, port);
    },
    serve: (serviceUrl, options = {}, idToken) => {
      const redirectUri = `${serviceUrl.replace(/\/$/, '')}/auth/oidc/callback`;
      const provider = providerOf(issuer, redirectUri, people, options);
      provider.use(async (context, next) => {
        await next();
        const body = context.body as { id_token?: string } | undefined;
        if (idToken && body?.id_token) body.id_token = await idToken(body.id_token);
      });
      handle = provider.callback();
    },
  };
}

function providerOf(issuer: string, redirectUri: string, people: TestOidc['people'], options: Configuration): Provider {
  // The provider prints warnings that its forms and keys are not for production.
  const { info, warn } = console;
  Object.assign(console, { info: () => undefined, warn: () => undefined });
  try {
    return new Provider(issuer, {
      clients: [
        {
          client_id: CLIENT.id,
          client_secret: CLIENT.secret,
          redirect_uris: [redirectUri],
          grant_types: ['authorization_code', 'refresh_token'],
          response_types: ['code'],
        },
      ],
      claims: {
        openid: ['sub'],
        email: ['email', 'email_verified'],
        profile: ['name'],
        groups: ['groups', 'hasgroups', '_claim_names', 'upn'],
      },
      scopes: ['openid', 'profile', 'email', 'groups'],
      cookies: { keys: ['of cookies of the provider'] },
      findAccount: (_context, sub) => {
        const person = people.get(sub);
        return person && { accountId: sub, claims: () => ({ sub, ...person }) };
      },
      issueRefreshToken: () => true,
      rotateRefreshToken: true,
      pkce: { required: () => true },
      ttl: { AccessToken: 60, IdToken: 60, Grant: 3_600, RefreshToken: 3_600, Session: 3_600, Interaction: 600 },
      ...options,
    });
  } finally {
    Object.assign(console, { info, warn });
  }
}

const serverOf = (handle: () => ReturnType<Provider['callback']> | null): Server =>
  createServer((req, res) => {
    const serve = handle();
    if (serve) void serve(req, res);
    else res.writeHead(503).end();
  });

async function listen(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

async function close(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}
