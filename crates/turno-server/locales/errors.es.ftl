# Errors of the library, by variant; see src/texts/causes.rs. They are fragments that fit after "failed: ".

error-text = { $text }
error-too-deep = { $field } tiene más de { $max } niveles, uno dentro de otro; aplánelo, o envíelo como texto
error-instance-required = el token de una máquina debe nombrar su instancia; agréguela
error-wrong-status = la tarea { $task } está { $status }, y no se puede bloquear
error-unknown = no se conoce { $thing }
error-overloaded = hay demasiado trabajo; no se guardó nada, vuelva a intentar en un momento
error-closed = está cerrada; ábrala de nuevo

# Names and policies.

error-name-empty = { $name } está vacío; dele de 1 a { $max } caracteres
error-name-long = { $name } tiene más de { $max } caracteres; acórtelo
error-name-control = { $name } contiene un carácter de control; quítelo
error-name-kind = { $kind ->
        [user_id] el usuario
        [queue_name] el nombre de la cola
        [item_id] el id del elemento
        [request_id] el id del pedido
        [serial_number] el número de serie
        [action] el nombre de la acción
        [instance] el nombre de la instancia
        [key] el texto de la clave
        [resource] el recurso
        [scope] el ámbito
       *[sku] el código del artículo
    }
error-policy = { $field } debe estar entre { $min } y { $max }

# Access.

error-unauthenticated = el token no vale, o ya no; inicie sesión de nuevo o pida otro
error-forbidden = hace falta el permiso { $permission }; pídalo a un administrador
error-other-resource = este token no vale para { $resource }; use uno cuyos recursos lo incluyan
error-more-than-held = usted no tiene { $permission }, así que no puede darlo ni quitarlo; pídalo a quien lo tenga
error-last-admin = { $user } es el último administrador; haga administrador a otra persona primero
error-has-admin = ya hay un administrador; pídaselo, o haga un enlace para que entre un usuario
error-user-exists = { $user } ya existe; cámbielo, o elija otro id

# Leases.

error-lease-held = lo tiene { $holder }
error-lease-offered = reservado para { $holder }
error-lease-pinned = una transacción abierta depende del bloqueo; vuelva a intentar en un momento
error-line-full = la fila está llena; vuelva a intentar más tarde
error-already-holder = quien tiene el bloqueo no puede esperarlo
error-idle-required = este bloqueo vigila la inactividad; la renovación debe decir hace cuánto que la persona no hace nada
error-ttl = el plazo debe estar entre { $min } y { $max } ms
error-lease-lost = se perdió el bloqueo: { $cause ->
        [no_heartbeat] no llegó ninguna renovación a tiempo
        [idle] quien lo tenía estaba inactivo
        [rolling_timeout] pasó demasiado tiempo sin trabajo
        [override] lo tomó otro usuario
        [user_disabled] se deshabilitó a quien lo tenía
        [released] se liberó
        [expired] venció
        [unreachable] no se llegó a la base a tiempo
        [denied] se quitó el permiso
       *[unknown] el fence es viejo
    }

# Stores. $cause is the database's own text.

error-store-unavailable = no se llega a la base: { $cause }
error-store-unknown = no se sabe si se guardó: { $cause }
error-store-conflict = otra transacción se adelantó: { $cause }
error-store-rejected = la base lo rechazó: { $cause }
error-access-changed = cambiaron los permisos de quien llama; vuelva a intentar
error-queue-gone = una cola del pedido ya no existe; vuelva a intentar
error-file = { $fault ->
        [gone] el archivo de la base se borró o se movió; detenga el servidor y ponga el archivo o un respaldo en su lugar
        [replaced] el archivo de la base se reemplazó por otro; reinicie el servidor para usar ese, o devuelva el primero
        [cut_short] el archivo de la base se cortó; detenga el servidor y ponga un respaldo en su lugar
        [log_gone] el registro junto al archivo de la base (-wal) se borró o se reemplazó; detenga el servidor y ponga un respaldo en su lugar
       *[unwritable] no se puede escribir en el archivo de la base, vea si el disco está lleno o es de solo lectura: { $cause }
    }

# Sources, each with the next step.

error-source-no-triggers = los triggers necesitan PostgreSQL; en SQLite una cola de sincronización se alimenta por la API
    .next = ponga los cambios en la cola con `turno queue enqueue` o { $route }, o use PostgreSQL
error-source-no-table = no existe la tabla { $table }
    .next = créela primero, o corrija `table` de la fuente: las mayúsculas cuentan, y va sin comillas
error-source-not-a-table = { $table } no es una tabla
    .next = nombre una tabla común o particionada
error-source-no-columns = { $count ->
        [one] la tabla { $table } no tiene la columna { $columns }
       *[other] a la tabla { $table } le faltan las columnas { $columns }
    }
    .next = corrija `key`, `watch` y `payload` de la fuente; las mayúsculas cuentan
error-source-key-type = la columna { $column } es de tipo { $type }, que no puede ser una clave
    .next = elija una columna de números enteros, numeric, text, uuid o un enum
error-source-not-a-key = esto no puede ser una clave de la columna { $column }: { $cause }
    .next = dé un valor de { $column } tal como está en la tabla
error-source-unreadable = { $role } no puede leer { $table }
    .next = otorgue usage sobre su esquema, y select sobre { $table }, a { $role }
error-source-hidden = la seguridad por filas de { $table } le oculta filas a { $role }, y parecería que ya no están
    .next = dé bypassrls a { $role }, o una política para todas las filas
error-source-condition = las condiciones no sirven: { $cause }
    .next = corrija `current_when` y `enqueue_when`; los nombres fuera de pg_catalog llevan su esquema
error-source-no-queue = no hay una cola { $queue } de sincronización
    .next = créela, o deje que lo haga `turno sync install`
error-source-taken = { $kind } { $name } ya existe y no es de esta fuente
    .next = elija otro nombre en la fuente, o quite lo que hay
error-object-kind = { $kind ->
        [table] la tabla
        [view] la vista
        [index] el índice
        [trigger] el trigger
        [function] la función
        [materialized_view] la vista materializada
        [foreign_table] la tabla foránea
        [sequence] la secuencia
       *[relation] la relación
    }
error-source-duplicates = hay más de una fila vigente para { $count ->
        [one] 1 clave
       *[other] { $count } claves
    } de { $table }, con el número de filas: { $keys }
    .next = deje una fila vigente por clave e instale de nuevo; o ponga one_current_per_key = false
error-ident-empty = un nombre de la base está vacío; dele de 1 a { $max } bytes
    .next = corríjalo en la configuración
error-ident-long = "{ $name }" tiene más de { $max } bytes, y la base lo cortaría; acórtelo
    .next = corríjalo en la configuración
error-ident-nul = un nombre o un texto contiene un carácter NUL; quítelo
    .next = corríjalo en la configuración
