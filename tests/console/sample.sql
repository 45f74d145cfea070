-- A small shop, and a schema full of texts that try to become something else than texts.
create table customers (id int primary key generated always as identity, name text not null, city text);
comment on table customers is 'Who has bought something.';
create table products (id int primary key generated always as identity, name text not null, category text not null, price numeric(8, 2) not null);
create table orders (
  id int primary key generated always as identity,
  customer_id int not null references customers,
  created_at timestamptz not null,
  total numeric(10, 2) not null
);
create index on orders (customer_id);
create table order_items (
  order_id int not null references orders,
  product_id int not null references products,
  quantity int not null check (quantity > 0),
  primary key (order_id, product_id)
);
insert into customers (name, city) select 'Customer ' || n, (array ['Ur', 'Uruk', 'Nippur'])[1 + n % 3] from generate_series(1, 200) n;
insert into products (name, category, price)
  select 'Product ' || n, (array ['Garden', 'Kitchen', 'Clay'])[1 + n % 3], n * 1.25 from generate_series(1, 40) n;
insert into orders (customer_id, created_at, total)
  select 1 + n % 200, timestamptz '2026-01-01 08:00+00' + n * interval '3 hours', 10 + n % 90 from generate_series(1, 1500) n;
insert into order_items select n, 1 + n % 40, 1 + n % 5 from generate_series(1, 1500) n;

-- What only the details of a table have.
create schema sales;
create type sales.state as enum ('open', 'paid', 'sent, partly');
create table sales.invoices (
  id bigint primary key,
  order_id int not null references orders,
  state sales.state not null default 'open',
  amount numeric(12, 2) constraint has_amount check (amount > 0)
);
alter table sales.invoices enable row level security;
create policy own_invoices on sales.invoices for select using (id > 0);
create function sales.stamp() returns trigger language plpgsql as $$ begin return new; end $$;
create trigger stamped before insert on sales.invoices for each row execute function sales.stamp();
create view sales.unpaid as select id, amount from sales.invoices where state = 'open';
create table sales.days (day date) partition by range (day);
create table sales.days_1 partition of sales.days for values from ('2026-01-01') to ('2027-01-01');

create schema hostile;
create table hostile."<img src=x onerror=alert(1)>" (
  id int primary key,
  "<script>alert(2)</script>" text,
  "a""b' c\ud" text default '<svg onload=alert(3)>'
);
comment on table hostile."<img src=x onerror=alert(1)>" is '<iframe srcdoc="<script>alert(4)</script>"></iframe> [x](javascript:alert(5))';
comment on column hostile."<img src=x onerror=alert(1)>"."<script>alert(2)</script>" is '"><script>alert(6)</script>';
create table hostile.texts (id int primary key generated always as identity, text text);
insert into hostile.texts (text) values
  ('<script>document.title = ''run''</script>'),
  ('<img src=http://198.51.100.1/x.png onerror="document.title = ''run''">'),
  ('<svg><animate onbegin=alert(1) attributeName=x dur=1s>'),
  ('javascript:alert(1)'),
  ('[click](javascript:alert(1)) ![x](http://198.51.100.1/y.png)'),
  ('{{constructor.constructor("alert(1)")()}}'),
  ('${alert(1)}`'),
  ('</textarea></pre></style><script>alert(1)</script>'),
  ('=HYPERLINK("http://198.51.100.1/","x")'),
  (E'left \u202Eright\u202C zero\u200Bwidth \uFEFF mark'),
  (repeat('a', 1000000));
create function hostile.fail(message text) returns int language plpgsql as $$ begin raise exception '%', message; end $$;
create function hostile.note(message text) returns int language plpgsql as $$ begin raise notice '%', message; return 1; end $$;

-- Pages show estimates, which PostgreSQL would make at a time of its own choice.
analyze;
