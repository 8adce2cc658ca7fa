import {
  allowInsecureRequests,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  clockTolerance,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  None,
} from 'openid-client';
import type { Logger } from 'pino';
import { signInUnavailable } from '../sign-in-errors.ts';
import { boundedFetch } from './bounded-fetch.ts';
import { describeOidcError } from './oidc-errors.ts';

/** The metadata of a provider is read again after this time. If that fails, the previous metadata remain in use. */
const FRESH_MS = 3_600_000;
const RETRY_MS = 2_000;
const TIMEOUT_S = 10;
/** Allowed difference between the clocks of the provider and this machine. */
const CLOCK_TOLERANCE_S = 30;

export interface OidcClientOptions {
  readonly issuer: string;
  readonly clientId: string;
  /** `null` for a public client, which uses only PKCE. */
  readonly clientSecret: string | null;
  readonly log: Logger;
}

/** The cached metadata of a provider, read at the first use: the service starts while the provider is unavailable. */
export class OidcConfiguration {
  readonly #options: OidcClientOptions;
  #known: { readonly configuration: Configuration; readonly readAt: number } | null = null;
  #reading: Promise<Configuration> | null = null;
  #failedAt = Number.NEGATIVE_INFINITY;

  constructor(options: OidcClientOptions) {
    this.#options = options;
  }

  async get(): Promise<Configuration> {
    const now = performance.now();
    if (this.#known !== null && now - this.#known.readAt < FRESH_MS) return this.#known.configuration;
    const mustWait = now - this.#failedAt < RETRY_MS;
    if (mustWait && this.#known === null) throw signInUnavailable();
    if (!mustWait) this.#reading ??= this.#read().finally(() => (this.#reading = null));
    if (this.#known === null) return this.#reading ?? Promise.reject(signInUnavailable());
    // Callers do not wait for a refresh.
    this.#reading?.catch(() => undefined);
    return this.#known.configuration;
  }

  async #read(): Promise<Configuration> {
    const { issuer, log } = this.#options;
    try {
      const configuration = await readConfiguration(this.#options);
      this.#known = { configuration, readAt: performance.now() };
      return configuration;
    } catch (error) {
      this.#failedAt = performance.now();
      log.warn({ issuer, error: describeOidcError(error) }, 'could not read the metadata of the OpenID provider');
      throw signInUnavailable();
    }
  }
}

export async function readConfiguration({
  issuer,
  clientId,
  clientSecret,
}: Omit<OidcClientOptions, 'log'>): Promise<Configuration> {
  const found = await discovery(new URL(issuer), clientId, undefined, None(), {
    timeout: TIMEOUT_S,
    [customFetch]: boundedFetch(issuer),
    execute: issuer.startsWith('http:') ? [allowInsecureRequests] : [],
  });
  const server = found.serverMetadata();
  const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  const authentication =
    clientSecret === null
      ? None()
      : methods.includes('client_secret_basic')
        ? ClientSecretBasic(clientSecret)
        : ClientSecretPost(clientSecret);
  const configuration = new Configuration(server, clientId, { [clockTolerance]: CLOCK_TOLERANCE_S }, authentication);
  configuration.timeout = TIMEOUT_S;
  configuration[customFetch] = boundedFetch(issuer);
  if (issuer.startsWith('http:')) allowInsecureRequests(configuration);
  // Also verifies signatures of tokens that come directly from the provider.
  enableNonRepudiationChecks(configuration);
  return configuration;
}
