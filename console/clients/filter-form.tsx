import { graphql } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { FilterBar, FilterSelect, FilterText } from '../ui/filter-bar.tsx';
import { protocolName, versionName } from './client-columns.tsx';
import { CONDITIONS, type Condition, MODES, PROTOCOLS, SORT_FIELDS, VERSIONS } from './selection.ts';
import { clientsTexts } from './texts.ts';

interface FilterFormProps {
  readonly brokerId: string;
  readonly values: URLSearchParams;
}

/** Conditions that are shown on demand. */
const MORE: readonly Condition[] = ['username', 'group', 'address', 'protocol', 'version', 'queued', 'dropped'];

/** The conditions of the list, which are in the address. */
export function FilterForm({ brokerId, values }: FilterFormProps) {
  const text = useTexts(clientsTexts);
  const any = text('any');
  return (
    <FilterBar
      keys={CONDITIONS}
      search={{ name: 'text', label: text('text') }}
      more={{
        keys: MORE,
        fields: (
          <>
            <FilterText name="username" label={text('account')} />
            <GroupSelect brokerId={brokerId} value={values.get('group') ?? ''} />
            <FilterText name="address" label={text('addressOrNetwork')} />
            <FilterSelect
              name="protocol"
              label={text('protocol')}
              any={any}
              options={PROTOCOLS.map((protocol) => [protocol, protocolName(protocol)])}
            />
            <FilterSelect
              name="version"
              label={text('version')}
              any={any}
              options={VERSIONS.map((version) => [version, versionName(version)])}
            />
            <FilterSelect name="sort" label={text('sort')} options={SORT_FIELDS.map((field) => [field, text(field)])} />
            <FilterText name="queued" label={text('minQueued')} isNumber={true} />
            <FilterText name="dropped" label={text('minDropped')} isNumber={true} />
          </>
        ),
      }}
    >
      <FilterSelect name="mode" label={text('mode')} options={MODES.map((mode) => [mode, text(mode)])} />
      <FilterSelect
        name="state"
        label={text('state')}
        any={any}
        options={[
          ['connected', text('connected')],
          ['offline', text('offline')],
        ]}
      />
    </FilterBar>
  );
}

const GROUPS = graphql(`query GroupsOfClients($id: ID!) {
  broker(id: $id) { accessGroups(first: 500) { totalCount nodes { groupName } } }
}`);

/** Nothing at a broker without groups. */
function GroupSelect({ brokerId, value }: { readonly brokerId: string; readonly value: string }) {
  const text = useTexts(clientsTexts);
  const numberText = useNumbers();
  const { data } = useQuery(GROUPS, { id: brokerId });
  const groups = data?.broker?.accessGroups;
  const names = new Set(groups?.nodes.map(({ groupName }) => groupName));
  const further = (groups?.totalCount ?? 0) - names.size;
  if (value !== '') names.add(value);
  if (names.size === 0) return null;
  return (
    <FilterSelect
      name="group"
      label={text('group')}
      any={text('any')}
      options={Array.from(names, (name) => [name, name])}
    >
      {further > 0 && <option disabled={true}>{text('furtherGroups', { count: numberText(further) })}</option>}
    </FilterSelect>
  );
}
