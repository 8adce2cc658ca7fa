import { readSecretFile } from './secret-file.ts';
import { BadValue } from './setting-values.ts';
import { SETTINGS } from './settings.ts';
import { unknownSettings } from './unknown-settings.ts';

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

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the settings. An empty variable counts as unset. A secret may be in a file, which its variable with the suffix
 * _FILE names. Errors: ConfigError, also for a variable that seems to be a misspelled setting.
 */
export function readConfig(env: Environment): Config {
  const problems = unknownSettings(env);
  const values: Record<string, unknown> = {};
  for (const [name, { env: variable, fallback, parse, secret }] of Object.entries(SETTINGS)) {
    const given = secret ? secretOf(env, variable, problems) : env[variable];
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

function secretOf(env: Environment, variable: string, problems: string[]): string | undefined {
  const file = env[`${variable}_FILE`];
  if (file === undefined || file === '') return env[variable];
  if (env[variable]) {
    problems.push(`${variable} and ${variable}_FILE are both set: unset one of them`);
    return undefined;
  }
  try {
    return readSecretFile(file);
  } catch (error) {
    problems.push(`${variable}_FILE: ${(error as Error).message}`);
    return undefined;
  }
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
