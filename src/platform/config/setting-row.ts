import type { Parse } from './setting-values.ts';

interface SettingRow {
  /** Default value as text. Absent: unset. */
  readonly fallback?: string;
  /** Shown in `--help` and in docs/configuration.md. */
  readonly help: string;
  readonly parse: Parse<unknown>;
  /** Shown instead of the fallback. */
  readonly shownDefault?: string;
  readonly secret?: true;
}

/** Adds the environment variable of each setting: MQTT_PORT for `mqttPort`. Only settings are read from it. */
export const settings = <Rows extends Readonly<Record<string, SettingRow>>>(rows: Rows) =>
  Object.fromEntries(
    Object.entries(rows).map(([name, row]) => {
      const env = name.replace(/[A-Z]/g, '_$&').toUpperCase();
      return [name, { fallback: '', ...row, env }];
    }),
  ) as {
    readonly [Key in keyof Rows]: Rows[Key] &
      Omit<SettingRow, 'parse'> & { readonly env: string; readonly fallback: string };
  };
