/** Describes the missing permissions in terms of Mosquitto's dynamic security. */
export function missingRights(filters: readonly string[], username: string | null): string {
  const patterns = filters.map((filter) => `"${filter}"`).join(', ');
  const account = username === null ? 'clients without a user name' : `user "${username}"`;
  const role = username === null ? 'A role of the group of anonymous clients' : `A role of "${username}"`;
  return (
    `The broker does not allow ${account} to subscribe to ${patterns}. ${role} needs, for each of these patterns, an ACL of ` +
    'type subscribePattern that allows the pattern, and one of type publishClientReceive that allows its topics.'
  );
}
