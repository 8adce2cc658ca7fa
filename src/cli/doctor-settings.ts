import type { Config } from '../config.ts';
import { checkRedis } from '../embedded/sharing/redis-log/redis-upkeep.ts';
import type { Finding } from '../sign-in/finding.ts';
import { examineLdap } from '../sign-in/ldap/ldap-examination.ts';
import { examineOidc } from '../sign-in/oidc/oidc-examination.ts';
import { redirectUriOf } from '../sign-in/oidc/oidc-sign-in.ts';
import { ldapOptions, oidcOptions } from '../sign-in/sign-in.ts';
import { AnsweredNo, type Terminal, table } from './terminal.ts';

interface Options {
  readonly login?: string;
  readonly json?: boolean;
}

/** Tries what the settings name beside brokers, as the service would use it. Errors: AnsweredNo when something does not work, after telling what. */
export async function examineSettings(config: Config, { out }: Terminal, { login, json }: Options): Promise<void> {
  const oidc = oidcOptions(config);
  const ldap = ldapOptions(config);
  const publicUrl =
    config.publicUrl ?? `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${config.port}`;
  const findings = (
    await Promise.all([
      examineRedis(config),
      oidc === null ? [] : examineOidc(oidc, redirectUriOf(publicUrl)),
      ldap === null ? [] : examineLdap(ldap, login ?? null),
    ])
  ).flat();
  out(json ? `${JSON.stringify({ findings })}\n` : textOf(findings));
  if (findings.some(({ works }) => !works)) throw new AnsweredNo();
}

async function examineRedis({ redisUrl, brokerTimeoutMs }: Config): Promise<readonly Finding[]> {
  if (redisUrl === undefined) return [];
  try {
    await checkRedis(redisUrl, brokerTimeoutMs);
    return [{ setting: 'REDIS_URL', works: true, told: ['Redis answers, is new enough, and keeps what it is given'] }];
  } catch (error) {
    // Made for people, without the URL.
    return [{ setting: 'REDIS_URL', works: false, told: [error instanceof Error ? error.message : 'unknown'] }];
  }
}

function textOf(findings: readonly Finding[]): string {
  if (findings.length === 0) return 'Nothing to try: none of REDIS_URL, OIDC_ISSUER and LDAP_URL is set.\n';
  return table(
    findings.flatMap(({ setting, works, told }) =>
      told.map((line, i) => (i === 0 ? [setting, works ? 'works' : 'FAILS', line] : ['', '', line])),
    ),
  );
}
