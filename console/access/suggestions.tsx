import { useBroker } from '../broker/broker-context.ts';
import { graphql } from '../graph/graphql.ts';
import { useFresh } from '../graph/use-fresh.ts';

const KNOWN = graphql(`query KnownNames(
  $id: ID!
  $accounts: Boolean!
  $groups: Boolean!
  $roles: Boolean!
  $typed: String!
) {
  broker(id: $id) {
    accounts(first: 20, filter: { search: $typed }) @include(if: $accounts) { nodes { username textName } }
    accessGroups(first: 20, filter: { value: $typed }) @include(if: $groups) { nodes { groupName textName } }
    accessRoles(first: 20, filter: { value: $typed }) @include(if: $roles) { nodes { roleName textName } }
  }
}`);

interface SuggestionsProps {
  /** The `list` of the input. */
  readonly id: string;
  readonly kind: 'accounts' | 'groups' | 'roles';
  /** What was typed: the broker may have more names than fit into a list. */
  readonly typed: string;
}

/** Names that the broker has, for an input. */
export function Suggestions({ id, kind, typed }: SuggestionsProps) {
  const broker = useBroker();
  const wanted = { accounts: kind === 'accounts', groups: kind === 'groups', roles: kind === 'roles' };
  const { data } = useFresh(KNOWN, { id: broker.id, typed, ...wanted }, 0);
  const names = [
    ...(data?.broker?.accounts?.nodes ?? []).map(({ username, textName }) => ({ name: username, textName })),
    ...(data?.broker?.accessGroups?.nodes ?? []).map(({ groupName, textName }) => ({ name: groupName, textName })),
    ...(data?.broker?.accessRoles?.nodes ?? []).map(({ roleName, textName }) => ({ name: roleName, textName })),
  ];
  return (
    <datalist id={id}>
      {names.map(({ name, textName }) => (
        <option key={name} value={name} label={textName ?? undefined} />
      ))}
    </datalist>
  );
}
