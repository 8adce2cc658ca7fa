import type { Finding } from '../../domains/sign-in/finding.ts';
import { examineLdap } from '../../domains/sign-in/ldap/ldap-examination.ts';
import { examineOidc } from '../../domains/sign-in/oidc/oidc-examination.ts';
import { redirectUriOf } from '../../domains/sign-in/oidc/oidc-sign-in.ts';
import { ldapOptions, oidcOptions } from '../../domains/sign-in/sign-in.ts';
import type { Config } from '../../platform/config/config.ts';
import { NegativeResult, type Terminal, table } from './terminal.ts';

interface Options {
  readonly login?: string;
  readonly json?: boolean;
}

/** Tests the sign-in providers of the settings and prints the findings. Errors: NegativeResult if a test fails. */
export async function examineSettings(config: Config, { out }: Terminal, { login, json }: Options): Promise<void> {
  const oidc = oidcOptions(config);
  const ldap = ldapOptions(config);
  const publicUrl =
    config.publicUrl ?? `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${config.port}`;
  const findings = (
    await Promise.all([
      oidc === null ? [] : examineOidc(oidc, redirectUriOf(publicUrl)),
      ldap === null ? [] : examineLdap(ldap, login ?? null),
    ])
  ).flat();
  out(json ? `${JSON.stringify({ findings })}\n` : textOf(findings));
  if (findings.some(({ works }) => !works)) throw new NegativeResult();
}

function textOf(findings: readonly Finding[]): string {
  if (findings.length === 0) return 'Nothing to test: neither OIDC_ISSUER nor LDAP_URL is set.\n';
  return table(
    findings.flatMap(({ setting, works, told }) =>
      told.map((line, i) => (i === 0 ? [setting, works ? 'works' : 'FAILS', line] : ['', '', line])),
    ),
  );
}
