type Part = 'accounts' | 'groups' | 'roles' | 'passwordAges' | 'defaults' | 'documents';
type Values = Readonly<Record<string, string | null | undefined>>;

const withQuery = (path: string, values: Values): string => {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) if (value) query.set(key, value);
  return query.size > 0 ? `${path}?${query}` : path;
};

/** The address of a list, or with `name` that of one account, group or role. Names may contain any character. */
export const accessAddress = (brokerId: string, part: Part, values: Values = {}): string =>
  withQuery(`/brokers/${brokerId}/access/${part}`, values);

/** The address of the form that gives a device an account, filled with what is known of the device. */
export const giveAccessAddress = (
  brokerId: string,
  known: { readonly account?: string | null; readonly client?: string } = {},
): string => accessAddress(brokerId, 'accounts', { new: 'device', ...known });

/** The address of the clients of an account or a group. */
export const clientsAddress = (
  brokerId: string,
  values: { readonly username: string } | { readonly group: string },
): string => withQuery(`/brokers/${brokerId}/clients`, values);

/** The address of the screen that explains a decision of the broker. */
export const whyAddress = (
  brokerId: string,
  values: {
    readonly account?: string | null | undefined;
    /** `true`: the client has no user name. */
    readonly anonymous?: 'true' | undefined;
    readonly clientId?: string | null | undefined;
    readonly action?: string | null | undefined;
    readonly topic?: string | null | undefined;
  },
): string => withQuery(`/brokers/${brokerId}/why`, values);
