import { BadValue } from './setting-values.ts';
import { SETTINGS } from './settings.ts';

export type Config = {
  readonly [Key in keyof typeof SETTINGS]: ReturnType<(typeof SETTINGS)[Key]['parse']>;
};

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
  problems.push(...missingDependencies(values));
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(values) as Config;
}

function missingDependencies(values: Readonly<Record<string, unknown>>): string[] {
  const dependencies = [
    ['oidcIssuer', 'oidcClientId'],
    ['ldapUrl', 'ldapUserBase'],
    ['ldapBindDn', 'ldapBindPassword'],
  ] as const;
  const missing = dependencies.flatMap(([name, required]) =>
    values[name] !== undefined && values[required] === undefined
      ? [`${SETTINGS[required].env} must be set because ${SETTINGS[name].env} is set`]
      : [],
  );
  if (values.role === 'all' || values.databaseUrl !== undefined) return missing;
  return [...missing, 'DATABASE_URL must be set because ROLE is set: processes share a PostgreSQL'];
}
