import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import { AuthService } from '../../platform/auth/auth-service.ts';
import type { ClaimRoles } from '../../platform/auth/viewer-loader.ts';
import type { Closers } from '../../platform/closers.ts';
import type { Config } from '../../platform/config/config.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { Sealer } from '../../platform/storage/encryption/sealed.ts';
import type { Storage } from '../../platform/storage/storage.ts';
import { certificatesProblem, plainPem } from '../../protocol/certificates/connection-pem.ts';
import type { AuditService } from '../audit/audit-service.ts';
import type { ProjectCache } from '../projects/project-cache.ts';
import type { SignInMethods } from '../users/sign-in-methods.ts';
import { SignInAccounts } from './accounts.ts';
import type { LdapDirectory, LdapDirectoryOptions } from './ldap/ldap-directory.ts';
import type { OidcProvider, OidcProviderOptions } from './oidc/oidc-provider.ts';
import { OidcSignIn } from './oidc/oidc-sign-in.ts';
import type { Claims } from './rules/claim-values.ts';
import { RuleCache } from './rules/rule-cache.ts';
import { rolesByRules } from './rules/rule-roles.ts';
import { SignInRuleService } from './rules/sign-in-rule-service.ts';
import { SignInAttempts } from './sign-in-attempts.ts';
import { SignInChecks } from './sign-in-checks.ts';
import { SignInService } from './sign-in-service.ts';

interface SignInOptions {
  readonly storage: Storage;
  readonly sealer: Sealer;
  readonly config: Config;
  readonly audit: Pick<AuditService, 'record'>;
  /** A deleted project ends the rights in it. */
  readonly projects: ProjectCache;
  readonly closers: Closers;
  readonly log: Logger;
}

interface SignInServices {
  readonly auth: AuthService;
  readonly signIn: SignInService;
  readonly signInRules: SignInRuleService;
}

/** Creates the configured parts of signing in. External providers are not contacted before the first sign-in. */
export class SignIn {
  readonly #options: SignInOptions;
  readonly #accounts: SignInAccounts;
  readonly #attempts: SignInAttempts;
  readonly #oidc: OidcProvider | null;
  readonly checks: SignInChecks;
  readonly services: SignInServices;
  readonly methods: SignInMethods;

  /** Errors: ServiceError INVALID for an unreadable CA file. */
  static async open(options: SignInOptions): Promise<SignIn> {
    const { storage, sealer, config, audit, log } = options;
    const { db, changes } = storage;
    const createUsers = config.signInCreateUsers;
    const accounts = new SignInAccounts({ db, changes, sealer, audit, createUsers, log });
    return new SignIn(options, accounts, await openProviders(config, accounts, log));
  }

  private constructor(options: SignInOptions, accounts: SignInAccounts, { oidc, directory }: Providers) {
    const { storage, sealer, config, audit, projects, closers, log } = options;
    const { db, engine, changes, leases } = storage;
    const { localLogin, rootEmail, oidcGroupsClaim } = config;
    this.#options = options;
    this.#attempts = new SignInAttempts({ db, sealer });
    this.#accounts = accounts;
    this.#oidc = oidc;
    const providers = [oidc, directory].filter((provider) => provider !== null);
    this.checks = closers.keep(
      new SignInChecks({
        db,
        changes,
        leases,
        accounts,
        audit,
        providers,
        everyMs: config.signInCheckMinutes * 60_000,
        log,
      }),
    );
    const onlyEmail = localLogin ? null : rootEmail.trim().toLowerCase();
    this.methods = { onlyEmail, providers: providers.map(({ provider }) => provider) };
    // Created before AuthService, so that it receives changes first.
    const rules = closers.keep(new RuleCache({ db, changes }));
    const claimRoles: ClaimRoles = async ({ provider, claims }) =>
      rolesByRules(await rules.of(provider), JSON.parse(claims) as Claims);
    const auth = closers.keep(new AuthService({ db, engine, changes, sealer, log, onlyEmail, directory, claimRoles }));
    projects.onChange((_after, before) => {
      if (before !== null) auth.projectChanged(before.id);
    });
    this.services = {
      auth,
      signIn: new SignInService({
        db,
        attempts: this.#attempts,
        sessions: auth.sessions,
        checks: this.checks,
        offers: { local: localLogin, ldap: directory !== null, openIdConnect: oidc !== null },
      }),
      signInRules: new SignInRuleService({ db, changes, groupsClaims: { sso: oidcGroupsClaim, ldap: 'groups' } }),
    };
  }

  /** The sign-in of browsers, `null` without OpenID provider. Call it after the own address is known. */
  oidcSignIn(ownUrl: string): OidcSignIn | null {
    const { config, audit, log } = this.#options;
    if (this.#oidc === null) return null;
    return new OidcSignIn({
      provider: this.#oidc,
      attempts: this.#attempts,
      accounts: this.#accounts,
      audit,
      publicUrl: config.publicUrl ?? ownUrl,
      returnTo: config.signInReturnTo,
      onRefused: (error) => this.services.auth.signInCounts.refused(error),
      log,
    });
  }
}

interface Providers {
  readonly oidc: OidcProvider | null;
  readonly directory: LdapDirectory | null;
}

/** The configured providers. A start without a provider does not load its library. */
async function openProviders(config: Config, accounts: SignInAccounts, log: Logger): Promise<Providers> {
  const oidc = oidcOptions(config);
  const ldap = ldapOptions(config);
  return {
    oidc: oidc && new (await import('./oidc/oidc-provider.ts')).OidcProvider({ ...oidc, log }),
    directory: ldap && new (await import('./ldap/ldap-directory.ts')).LdapDirectory({ ...ldap, accounts, log }),
  };
}

export function oidcOptions(config: Config): Omit<OidcProviderOptions, 'log'> | null {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcClientSecret: clientSecret = null } = config;
  if (issuer === undefined || clientId === undefined) return null;
  return {
    issuer,
    clientId,
    clientSecret,
    scopes: config.oidcScopes,
    groupsClaim: config.oidcGroupsClaim,
    emailClaim: config.oidcEmailClaim,
    trustsEmail: config.oidcTrustEmail,
  };
}

/** The settings of the LDAP directory, `null` if none is configured. Errors: INVALID for an unreadable CA file. */
export function ldapOptions(config: Config): Omit<LdapDirectoryOptions, 'accounts' | 'log'> | null {
  const { ldapUrl: url, ldapUserBase: userBase, ldapBindDn: dn, ldapBindPassword: password } = config;
  if (url === undefined || userBase === undefined) return null;
  return {
    url,
    startTls: config.ldapStartTls,
    ca: config.ldapCaFile === undefined ? null : authoritiesIn(config.ldapCaFile),
    bind: dn === undefined || password === undefined ? null : { dn, password },
    userBase,
    userFilter: config.ldapUserFilter,
    groupBase: config.ldapGroupBase ?? null,
    groupFilter: config.ldapGroupFilter,
  };
}

function authoritiesIn(file: string): string {
  let pem: string;
  try {
    pem = readFileSync(file, 'utf8');
  } catch (error) {
    throw new ServiceError('INVALID', `LDAP_CA_FILE cannot be read: ${file}`, { cause: error });
  }
  const problem = certificatesProblem(pem);
  if (problem !== null) throw new ServiceError('INVALID', `LDAP_CA_FILE ${problem}: ${file}`);
  return plainPem(pem);
}
