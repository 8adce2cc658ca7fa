import { type ReactNode, useEffect, useRef, useState } from 'react';
import { graphql } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import { protocolName, versionName } from './client-columns.tsx';
import { CONDITIONS, type Condition, MODES, PROTOCOLS, SORT_FIELDS, VERSIONS } from './selection.ts';
import { clientsTexts } from './texts.ts';

interface FilterFormProps {
  readonly brokerId: string;
  readonly values: URLSearchParams;
  readonly set: (changes: Readonly<Record<string, string>>) => void;
}

/** Conditions that are shown on demand. */
const MORE: readonly Condition[] = ['username', 'group', 'address', 'protocol', 'version', 'queued', 'dropped'];

/** The conditions of the list and its order, which are in the address. */
export function FilterForm({ brokerId, values, set }: FilterFormProps) {
  const text = useTexts(clientsTexts);
  const props = (name: Condition) => ({ name, value: values.get(name) ?? '', onValue: set });
  const [isOpen] = useState(MORE.some((name) => values.has(name)));
  const isFiltered = CONDITIONS.some((name) => values.has(name));
  return (
    <search className="clients-filter">
      <Field label={text('text')}>
        <Input {...props('text')} type="search" />
      </Field>
      <Choice {...props('mode')} label={text('mode')} options={MODES.map((mode) => [mode, text(mode)])} />
      <Choice
        {...props('state')}
        label={text('state')}
        any={text('any')}
        options={[
          ['connected', text('connected')],
          ['offline', text('offline')],
        ]}
      />
      <details open={isOpen}>
        <summary>{text('moreConditions')}</summary>
        <div className="clients-filter">
          <Choice
            name="sort"
            value={values.get('sort') ?? ''}
            onValue={set}
            label={text('sort')}
            options={SORT_FIELDS.map((field) => [field, text(field)])}
          />
          <Choice
            name="order"
            value={values.get('order') ?? ''}
            onValue={set}
            label={text('order')}
            options={[
              ['ASC', text('ASC')],
              ['DESC', text('DESC')],
            ]}
          />
          <Field label={text('account')}>
            <Input {...props('username')} type="search" />
          </Field>
          <GroupChoice {...props('group')} brokerId={brokerId} />
          <Field label={text('addressOrNetwork')}>
            <Input {...props('address')} type="search" />
          </Field>
          <Choice
            {...props('protocol')}
            label={text('protocol')}
            any={text('any')}
            options={PROTOCOLS.map((protocol) => [protocol, protocolName(protocol)])}
          />
          <Choice
            {...props('version')}
            label={text('version')}
            any={text('any')}
            options={VERSIONS.map((version) => [version, versionName(version)])}
          />
          <Field label={text('minQueued')}>
            <Input {...props('queued')} type="number" />
          </Field>
          <Field label={text('minDropped')}>
            <Input {...props('dropped')} type="number" />
          </Field>
        </div>
      </details>
      {isFiltered && (
        <button type="button" onClick={() => set(Object.fromEntries(CONDITIONS.map((name) => [name, ''])))}>
          {text('clear')}
        </button>
      )}
    </search>
  );
}

/** How long the list waits for the next key, in milliseconds. */
const TYPING_MS = 50;

interface ValueProps {
  readonly name: string;
  readonly value: string;
  readonly onValue: (changes: Readonly<Record<string, string>>) => void;
}

function Input({ name, value, onValue, type }: ValueProps & { readonly type: 'search' | 'number' }) {
  const [typed, setTyped] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => setTyped(value), [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <input
      type={type}
      min={type === 'number' ? 1 : undefined}
      value={typed}
      onInput={({ currentTarget }) => {
        const next = currentTarget.value;
        setTyped(next);
        clearTimeout(timer.current);
        timer.current = setTimeout(() => onValue({ [name]: next }), TYPING_MS);
      }}
    />
  );
}

const GROUPS = graphql(`query GroupsOfClients($id: ID!) {
  broker(id: $id) { accessGroups(first: 500) { totalCount nodes { groupName } } }
}`);

/** Nothing at a broker without groups. */
function GroupChoice({ brokerId, ...props }: ValueProps & { readonly brokerId: string }) {
  const text = useTexts(clientsTexts);
  const numberText = useNumbers();
  const { data } = useQuery(GROUPS, { id: brokerId });
  const groups = data?.broker?.accessGroups;
  const names = new Set(groups?.nodes.map(({ groupName }) => groupName));
  const further = (groups?.totalCount ?? 0) - names.size;
  if (props.value !== '') names.add(props.value);
  if (names.size === 0) return null;
  return (
    <Choice {...props} label={text('group')} any={text('any')} options={Array.from(names, (name) => [name, name])}>
      {further > 0 && <option disabled={true}>{text('furtherGroups', { count: numberText(further) })}</option>}
    </Choice>
  );
}

interface ChoiceProps extends ValueProps {
  readonly label: string;
  /** Text of the choice without a condition. Default: the first option is chosen. */
  readonly any?: string;
  readonly options: readonly (readonly [string, string])[];
  readonly children?: ReactNode;
}

function Choice({ name, value, onValue, label, any, options, children }: ChoiceProps) {
  const [first] = any === undefined ? (options[0] ?? ['']) : [''];
  return (
    <Field label={label}>
      <select
        value={value === '' ? first : value}
        onChange={({ currentTarget }) => {
          onValue({ [name]: currentTarget.value === first ? '' : currentTarget.value });
        }}
      >
        {any !== undefined && <option value="">{any}</option>}
        {options.map(([key, title]) => (
          <option key={key} value={key}>
            {title}
          </option>
        ))}
        {children}
      </select>
    </Field>
  );
}
