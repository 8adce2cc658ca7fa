import { type Catalogue, useTexts } from '../texts/texts.ts';
import { fieldTexts } from './field-texts.ts';
import { emptyOf, type Fields, isFields, kindOf, type Schema } from './schema.ts';
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
  const fields = isFields(value) ? value : {};
  const { required = [] } = schema;
  return (
    <fieldset className="fields">
      <legend>{name}</legend>
      {schema.description && <small>{schema.description}</small>}
      <PropertyFields schema={schema} value={fields} isShown={(key) => required.includes(key)} onChange={onChange} />
      <FurtherFields
        name={name}
        schema={schema}
        value={fields}
        isShown={(key) => !required.includes(key)}
        onChange={onChange}
      />
    </fieldset>
  );
}

interface PropertyFieldsProps {
  readonly schema: Schema;
  readonly value: Fields;
  readonly isShown: (key: string) => boolean;
  readonly onChange: (value: unknown) => void;
}

/** Some values of an object. */
function PropertyFields({ schema: { properties = {}, required = [] }, value, isShown, onChange }: PropertyFieldsProps) {
  const text: (key: string) => string = useTexts<string>(fieldTexts as Catalogue<string>);
  const change = (key: string, changed: unknown) => {
    const { [key]: _before, ...others } = value;
    const next = changed === undefined ? others : { ...others, [key]: changed };
    // An optional object without values is absent.
    onChange(Object.keys(next).length === 0 ? undefined : next);
  };
  const shown = Object.entries(properties).filter(([key]) => isShown(key));
  return shown.map(([key, property]) => (
    <SchemaField
      key={key}
      name={text(key)}
      schema={property}
      value={value[key]}
      isRequired={required.includes(key)}
      onChange={(changed) => change(key, changed)}
    />
  ));
}

/** Values of an object behind a disclosure. Nothing if there are none. */
export function FurtherFields({ name, ...fields }: PropertyFieldsProps & { readonly name: string }) {
  const text = useTexts(bridgeTexts);
  if (!Object.keys(fields.schema.properties ?? {}).some(fields.isShown)) return null;
  return (
    <details>
      <summary>{text('further', { name })}</summary>
      <div className="fields">
        <PropertyFields {...fields} />
      </div>
    </details>
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
