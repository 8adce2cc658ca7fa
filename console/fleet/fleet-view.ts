import { useAddressValues } from '../ui/address-values.ts';

export const SHOWN = ['all', 'away', 'problems'] as const;
export const SORT_FIELDS = ['PROBLEMS', 'NAME', 'IS_CONNECTED', 'CLIENTS', 'MESSAGES_IN'] as const;
export type SortField = (typeof SORT_FIELDS)[number];

interface Order {
  readonly field: SortField;
  readonly order: 'ASC' | 'DESC';
}

/** What the address of the fleet selects. */
export interface FleetView {
  /** Part of the name. */
  readonly name: string;
  readonly show: (typeof SHOWN)[number];
  readonly isTiles: boolean;
  readonly orderBy: Order;
  /** Of the list of a project, from 1. */
  readonly pageOf: (projectId: string) => number;
}

/** What is wrong comes first, and what has most. */
const ORDERS: Readonly<Record<SortField, Order['order']>> = {
  PROBLEMS: 'DESC',
  NAME: 'ASC',
  IS_CONNECTED: 'ASC',
  CLIENTS: 'DESC',
  MESSAGES_IN: 'DESC',
};

type Changes = Readonly<Record<string, string>>;

interface ShownFleet {
  readonly view: FleetView;
  /** Names of the pages of the projects in the address. */
  readonly pageKeys: readonly string[];
  readonly set: (changes: Changes) => void;
  /** The address of the fleet with other values; an empty one is removed. Pages begin again. */
  readonly linkTo: (changes: Changes) => string;
  /** Sorts by a field, or in the other direction if the list is sorted by it. */
  readonly sortBy: (field: SortField) => void;
}

export function useFleetView(): ShownFleet {
  const { values, set } = useAddressValues();
  const field = SORT_FIELDS.find((one) => one === values.get('sort')) ?? 'PROBLEMS';
  const order = values.get('order') === 'other' ? other(ORDERS[field]) : ORDERS[field];
  const view: FleetView = {
    name: values.get('name') ?? '',
    show: SHOWN.find((one) => one === values.get('show')) ?? 'all',
    isTiles: values.get('view') === 'tiles',
    orderBy: { field, order },
    pageOf: (projectId) => Math.max(1, Number(values.get(projectId)) || 1),
  };
  const pageKeys = [...values.keys()].filter((key) => key.startsWith('prj_'));
  const pages = Object.fromEntries(pageKeys.map((key) => [key, '']));
  return {
    view,
    pageKeys,
    set,
    linkTo: (changes) => {
      const next = new URLSearchParams(values);
      for (const [key, value] of Object.entries({ ...pages, ...changes })) {
        if (value === '') next.delete(key);
        else next.set(key, value);
      }
      return `/?${next}`;
    },
    sortBy: (next) => {
      const isOther = next === field && order === ORDERS[field];
      set({ ...pages, sort: next === 'PROBLEMS' ? '' : next, order: isOther ? 'other' : '' });
    },
  };
}

const other = (order: Order['order']): Order['order'] => (order === 'ASC' ? 'DESC' : 'ASC');

/** The brokers of the view, as the graph selects them. */
export const filterOf = ({ name, show }: FleetView) => ({
  ...(name !== '' && { search: name }),
  ...(show === 'away' && { isConnected: false }),
  ...(show === 'problems' && { hasProblems: true }),
});
