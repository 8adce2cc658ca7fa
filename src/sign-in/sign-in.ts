import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import type { AuditService } from '../audit/audit-service.ts';
import type { Sessions } from '../auth/sessions.ts';
import type { Config } from '../config.ts';
import { ServiceError } from '../errors.ts';
import type { Sealer } from '../storage/sealed.ts';
import type { Storage } from '../storage/storage.ts';
import { SignInAccounts } from './accounts.ts';
import { LdapDirectory } from './ldap/ldap-directory.ts';
import { OidcProvider } from './oidc/oidc-provider.ts';
import { OidcSignIn } from './oidc/oidc-sign-in.ts';
import { SignInRuleService } from './rules/sign-in-rule-service.ts';
import { SignInAttempts } from './sign-in-attempts.ts';
import { SignInChecks } from './sign-in-checks.ts';
import { SignInService } from './sign-in-service.ts';

export interface SignInOptions {
  readonly storage: Storage;
  readonly sealer: Sealer;
  readonly config: Config;
  readonly audit: Pick<AuditService, 'record'>;
  readonly log: Logger;
}

/** The parts of signing in elsewhere, as they are configured. Nobody is asked anything before somebody signs in. */
export class SignIn {
  readonly #options: SignInOptions;
  readonly #accounts: SignInAccounts;
  readonly #attempts: SignInAttempts;
  readonly #oidc: OidcProvider | null;
  readonly directory: LdapDirectory | null;
  readonly checks: SignInChecks;

  /** Errors: ServiceError INVALID for a CA file that cannot be read. */
  constructor(options: SignInOptions) {
    const { storage, sealer, config, audit, log } = options;
    const { db, changes, leases } = storage;
    this.#options = options;
    this.#attempts = new SignInAttempts({ db, sealer });
    this.#accounts = new SignInAccounts({ db, changes, sealer, audit, createUsers: config.signInCreateUsers, log });
    this.#oidc = oidcOf(config, log);
    this.directory = directoryOf(config, this.#accounts, log);
    this.checks = new SignInChecks({
      db,
      changes,
      leases,
      accounts: this.#accounts,
      audit,
      providers: [this.#oidc, this.directory].filter((provider) => provider !== null),
      everyMs: config.signInCheckMinutes * 60_000,
      log,
    });
  }

  /** What callers of the graph may do about it. `sessions`: those that it opens. */
  connect(sessions: Sessions): { readonly signIn: SignInService; readonly signInRules: SignInRuleService } {
    const { storage, config } = this.#options;
    const { db, changes } = storage;
    const offers = { local: config.localLogin, ldap: this.directory !== null, openIdConnect: this.#oidc !== null };
    const groupsClaims = { sso: config.oidcGroupsClaim, ldap: 'groups' };
    return {
      signIn: new SignInService({ db, attempts: this.#attempts, sessions, checks: this.checks, offers }),
      signInRules: new SignInRuleService({ db, changes, groupsClaims }),
    };
  }

  /** The way of browsers, known once the service knows its own address; null: there is no OpenID provider. */
  browserWay(ownUrl: string): OidcSignIn | null {
    const { config, audit, log } = this.#options;
    if (this.#oidc === null) return null;
    return new OidcSignIn({
      provider: this.#oidc,
      attempts: this.#attempts,
      accounts: this.#accounts,
      audit,
      publicUrl: config.publicUrl ?? ownUrl,
      returnTo: config.signInReturnTo,
      log,
    });
  }
}

function oidcOf(config: Config, log: Logger): OidcProvider | null {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcClientSecret: clientSecret = null } = config;
  if (issuer === undefined || clientId === undefined) return null;
  return new OidcProvider({
    issuer,
    clientId,
    clientSecret,
    scopes: config.oidcScopes,
    groupsClaim: config.oidcGroupsClaim,
    trustsEmail: config.oidcTrustEmail,
    log,
  });
}

function directoryOf(config: Config, accounts: SignInAccounts, log: Logger): LdapDirectory | null {
  const { ldapUrl: url, ldapUserBase: userBase, ldapBindDn: dn, ldapBindPassword: password } = config;
  if (url === undefined || userBase === undefined) return null;
  return new LdapDirectory({
    url,
    startTls: config.ldapStartTls,
    ca: config.ldapCaFile === undefined ? null : textOf(config.ldapCaFile),
    bind: dn === undefined || password === undefined ? null : { dn, password },
    userBase,
    userFilter: config.ldapUserFilter,
    groupBase: config.ldapGroupBase ?? null,
    groupFilter: config.ldapGroupFilter,
    accounts,
    log,
  });
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new ServiceError('INVALID', `LDAP_CA_FILE cannot be read: ${file}`, { cause: error });
  }
}
