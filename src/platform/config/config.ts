import { BadValue } from './setting-values.ts';
import { SETTINGS, type Setting } from './settings.ts';

export type Config = {
  readonly [Key in keyof typeof SETTINGS]: (typeof SETTINGS)[Key] extends Setting<infer T> ? T : never;
};

/** All bad values of an environment at once, a line each. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

/** Reads the settings. An empty variable counts as unset. Errors: ConfigError. */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, { env: variable, fallback, parse, secret }] of Object.entries(SETTINGS)) {
    const given = env[variable];
    const value = given === undefined || given === '' ? fallback : given;
    try {
      values[name] = parse(value);
    } catch (error) {
      if (!(error instanceof BadValue)) throw error;
      problems.push(`${variable} must be ${error.message}${secret ? '' : `; it is "${value}"`}`);
    }
  }
  problems.push(...missingBeside(values));
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(values) as Config;
}

/** Settings that another one is of no use without. */
function missingBeside(values: Readonly<Record<string, unknown>>): string[] {
  const needed = [
    ['oidcIssuer', 'oidcClientId'],
    ['ldapUrl', 'ldapUserBase'],
    ['ldapBindDn', 'ldapBindPassword'],
  ] as const;
  return needed.flatMap(([one, other]) =>
    values[one] !== undefined && values[other] === undefined
      ? [`${SETTINGS[other].env} must be set beside ${SETTINGS[one].env}`]
      : [],
  );
}
