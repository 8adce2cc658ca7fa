import { useSearchParams } from 'wouter';

/** The filters of a list, which are in the address. A changed filter returns to the first page. */
export function useFilters() {
  const [search, setSearch] = useSearchParams();
  const set = (key: string, value: string) =>
    setSearch(
      (before) => {
        const after = new URLSearchParams(before);
        if (value === '') after.delete(key);
        else after.set(key, value);
        if (key !== 'page') after.delete('page');
        return after;
      },
      { replace: key !== 'page' },
    );
  return { get: (key: string) => search.get(key) ?? '', set, page: Math.max(1, Number(search.get('page')) || 1) };
}

type Filters = ReturnType<typeof useFilters>;

interface FilterInputProps {
  readonly filters: Filters;
  readonly name: string;
  readonly label: string;
  readonly list?: string;
}

export function FilterInput({ filters, name, label, list }: FilterInputProps) {
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={label}
      // Wide enough for the placeholder.
      size={Math.ceil(label.length * 0.9)}
      list={list}
      value={filters.get(name)}
      onInput={({ currentTarget: { value } }) => filters.set(name, value)}
    />
  );
}
