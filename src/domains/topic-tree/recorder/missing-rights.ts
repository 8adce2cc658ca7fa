/**
 * Describes the permissions that an account lacks to subscribe to filters, in terms of Mosquitto's dynamic security.
 */
export function missingRights(filters: readonly string[], username: string | null): string {
  const patterns = filters.map((filter) => `"${filter}"`).join(', ');
  const whom = username === null ? 'who connects without a user name' : `user "${username}"`;
  const where = username === null ? 'A role of the group of anonymous clients' : `A role of "${username}"`;
  return (
    `The broker does not let ${whom} subscribe to ${patterns}. ${where} needs, for each of these patterns, an ACL of type ` +
    'subscribePattern that allows it, and one of type publishClientReceive that allows what is published there.'
  );
}

/** Explains why subscriptions cannot be observed if the broker allows the log topics but publishes nothing to them. */
export const NO_SUBSCRIPTION_LOG =
  'The broker does not tell who subscribes to what. Mosquitto does with these two lines of mosquitto.conf: ' +
  '"log_dest topic" and "log_type subscribe" (beside the log_dest and log_type lines that are there).';
