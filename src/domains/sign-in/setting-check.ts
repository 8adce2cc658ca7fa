export interface SettingCheck {
  readonly setting: string;
  readonly works: boolean;
  /** Why it does not work, what was found, and what the provider must be configured with. */
  readonly messages: readonly string[];
}
