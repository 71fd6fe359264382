-- The table of users that `preset = "siper"` synchronises, as an example to try it with. Yours exists already.
create schema if not exists siper;

create table siper.usuarios (
    id bigint generated always as identity primary key,
    idper integer,
    nombre varchar(80) not null,
    apellido varchar(80) not null,
    activo boolean not null default true,
    hashpass varchar(200),
    algoritmo_pass varchar(20),
    -- Which of a person's users speaks for the person.
    principal boolean not null default false,
    telefono varchar(30),
    mail varchar(120)
);
