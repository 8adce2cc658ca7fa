import { useTexts } from '../texts/texts.ts';
import { emptyOf, type Fields, isFields, kindOf } from './schema.ts';
import { bridgeTexts } from './texts.ts';
import { ValueField, type ValueFieldProps } from './value-field.tsx';

/** An input for a value that a JSON Schema describes. */
export function SchemaField(props: ValueFieldProps) {
  const kind = kindOf(props.schema);
  if (kind === 'object') return <ObjectField {...props} />;
  return kind === 'list' ? <ListField {...props} /> : <ValueField {...props} />;
}

/** The values of an object: the required ones, and the others behind a disclosure. */
function ObjectField({ name, schema, value, onChange }: ValueFieldProps) {
  const text = useTexts(bridgeTexts);
  const fields: Fields = isFields(value) ? value : {};
  const { properties = {}, required = [] } = schema;
  const entries = Object.entries(properties);
  const change = (key: string, changed: unknown) => {
    const { [key]: _before, ...others } = fields;
    const next = changed === undefined ? others : { ...others, [key]: changed };
    // An optional object without values is absent.
    onChange(Object.keys(next).length === 0 ? undefined : next);
  };
  const field = ([key, property]: (typeof entries)[number]) => (
    <SchemaField
      key={key}
      name={key}
      schema={property}
      value={fields[key]}
      isRequired={required.includes(key)}
      onChange={(changed) => change(key, changed)}
    />
  );
  const needed = entries.filter(([key]) => required.includes(key));
  const others = entries.filter(([key]) => !required.includes(key));
  return (
    <fieldset className="fields">
      <legend>{name}</legend>
      {schema.description && <small>{schema.description}</small>}
      {needed.map(field)}
      {others.length > 0 && (
        <details>
          <summary>{text('further', { name })}</summary>
          <div className="fields">{others.map(field)}</div>
        </details>
      )}
    </fieldset>
  );
}

/** The entries of a list, which can be added and removed. */
function ListField({ name, schema, value, onChange }: ValueFieldProps) {
  const text = useTexts(bridgeTexts);
  const entries: readonly unknown[] = Array.isArray(value) ? value : [];
  const { items = {} } = schema;
  return (
    <fieldset className="fields">
      <legend>{name}</legend>
      {schema.description && <small>{schema.description}</small>}
      {entries.map((entry, index) => {
        const title = `${name} ${index + 1}`;
        return (
          <div key={index}>
            <SchemaField
              name={title}
              schema={items}
              value={entry}
              isRequired
              onChange={(changed) => onChange(entries.map((other, at) => (at === index ? (changed ?? {}) : other)))}
            />
            <button
              type="button"
              aria-label={text('removeEntry', { name: title })}
              onClick={() => onChange(entries.filter((_other, at) => at !== index))}
            >
              {text('remove')}
            </button>
          </div>
        );
      })}
      <p>
        <button
          type="button"
          aria-label={text('addTo', { name })}
          onClick={() => onChange([...entries, emptyOf(items)])}
        >
          {text('add')}
        </button>
      </p>
    </fieldset>
  );
}
