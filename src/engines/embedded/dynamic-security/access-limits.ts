/** The limits of the access control of an embedded broker. Objects beyond a limit are refused; existing ones stay. */
export interface AccessLimits {
  readonly clients: number;
  readonly groups: number;
  readonly roles: number;
  readonly acls: number;
  /** Roles or groups of one client, roles of one group. */
  readonly memberships: number;
  /** Characters of all stored names, texts and topics, and a constant for each membership and rule. */
  readonly size: number;
}

export const DEFAULT_ACCESS_LIMITS: AccessLimits = {
  clients: 100_000,
  groups: 20_000,
  roles: 20_000,
  acls: 10_000,
  memberships: 1_000,
  size: 100_000_000,
};
