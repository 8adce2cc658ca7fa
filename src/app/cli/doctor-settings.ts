import { checkLdapSettings } from '../../domains/sign-in/ldap/ldap-settings-check.ts';
import { checkOidcSettings } from '../../domains/sign-in/oidc/oidc-settings-check.ts';
import { redirectUriOf } from '../../domains/sign-in/oidc/oidc-sign-in.ts';
import type { SettingCheck } from '../../domains/sign-in/setting-check.ts';
import { ldapOptions, oidcOptions } from '../../domains/sign-in/sign-in.ts';
import { type Cli, type JsonOption, NegativeResult, print, table } from './terminal.ts';

/** Tests the sign-in providers of the settings and prints the findings. Errors: NegativeResult if a test fails. */
export async function examineSettings(cli: Cli, options: JsonOption & { readonly login?: string }): Promise<void> {
  const { config } = cli;
  const oidc = oidcOptions(config);
  const ldap = ldapOptions(config);
  const publicUrl =
    config.publicUrl ?? `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${config.port}`;
  const checks = (
    await Promise.all([
      oidc === null ? [] : checkOidcSettings(oidc, redirectUriOf(publicUrl)),
      ldap === null ? [] : checkLdapSettings(ldap, options.login ?? null),
    ])
  ).flat();
  print(cli, options, { findings: checks.map(toJson) }, textOf(checks));
  if (checks.some(({ works }) => !works)) throw new NegativeResult();
}

function textOf(checks: readonly SettingCheck[]): string {
  if (checks.length === 0) return 'Nothing to test: neither OIDC_ISSUER nor LDAP_URL is set.\n';
  return table(
    checks.flatMap(({ setting, works, messages }) =>
      messages.map((line, i) => (i === 0 ? [setting, works ? 'works' : 'FAILS', line] : ['', '', line])),
    ),
  );
}

const toJson = ({ setting, works, messages }: SettingCheck) => ({ setting, works, told: messages });
