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
import { signInUnavailable } from '../refusals.ts';
import { boundedFetch } from './bounded-fetch.ts';
import { describeOidcError } from './oidc-errors.ts';

/** What a provider says of itself is read anew after this; while it does not answer, what it said goes on. */
const FRESH_MS = 3_600_000;
/** A provider that did not answer is not asked for so long. */
const RETRY_MS = 2_000;
const TIMEOUT_S = 10;
/** Clocks of the provider and this machine may differ by so much. */
const CLOCK_TOLERANCE_S = 30;

export interface OidcClientOptions {
  readonly issuer: string;
  readonly clientId: string;
  /** Null: a public client, which has its proof keys alone. */
  readonly clientSecret: string | null;
  readonly log: Logger;
}

/** What is known of an issuer, read when it is first needed. A provider that is down when the service starts keeps nothing from starting. */
export class OidcConfiguration {
  readonly #options: OidcClientOptions;
  #known: { readonly configuration: Configuration; readonly readAt: number } | null = null;
  #reading: Promise<Configuration> | null = null;
  #failedAt = Number.NEGATIVE_INFINITY;

  constructor(options: OidcClientOptions) {
    this.#options = options;
  }

  /** Errors: SIGN_IN_UNAVAILABLE. */
  async get(): Promise<Configuration> {
    const now = performance.now();
    if (this.#known !== null && now - this.#known.readAt < FRESH_MS) return this.#known.configuration;
    const rests = now - this.#failedAt < RETRY_MS;
    if (rests && this.#known === null) throw signInUnavailable();
    if (!rests) this.#reading ??= this.#read().finally(() => (this.#reading = null));
    if (this.#known === null) return this.#reading ?? Promise.reject(signInUnavailable());
    // Nobody waits for what is only read again.
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
      log.warn({ issuer, error: describeOidcError(error) }, 'the OpenID provider could not be asked about itself');
      throw signInUnavailable();
    }
  }
}

/** What the provider says of itself, and how it is spoken to. Errors: those of openid-client, see describeOidcError. */
export async function readConfiguration({
  issuer,
  clientId,
  clientSecret,
}: Omit<OidcClientOptions, 'log'>): Promise<Configuration> {
  const found = await discovery(new URL(issuer), clientId, undefined, None(), {
    timeout: TIMEOUT_S,
    [customFetch]: boundedFetch,
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
  configuration[customFetch] = boundedFetch;
  if (issuer.startsWith('http:')) allowInsecureRequests(configuration);
  // Signatures are checked also of what comes straight from the provider.
  enableNonRepudiationChecks(configuration);
  return configuration;
}
